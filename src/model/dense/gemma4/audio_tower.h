/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Gemma 4's tower for sounds (Gemma4AudioModel of transformers), whose weights exist in a step on
 * text and images, which does not run it.
 */
#ifndef MS_MODEL_DENSE_GEMMA4_AUDIO_TOWER_H
#define MS_MODEL_DENSE_GEMMA4_AUDIO_TOWER_H

#include "model/dense/gemma4/bounded.h"

/* Creates its parameters below `parent`, from config->audio. */
void ms_gemma4_audio_new(ms_model *model, uint32_t parent);

#endif
