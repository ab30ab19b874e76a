/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Gemma 4 with towers for pictures and sounds (Gemma4ForConditionalGeneration).
 */
#ifndef MS_MODEL_DENSE_GEMMA4_WHOLE_H
#define MS_MODEL_DENSE_GEMMA4_WHOLE_H

#include "model/decoder/decoder.h"

/* The tower before the text model, if the config has it: a style's build_towers. */
bool ms_gemma4_vision_towers_new(ms_model *model, uint32_t scope);
/* What the text model has before its head, and behind it the tower for sounds and what leads from
 * both towers to the text model: a style's build_more. */
bool ms_gemma4_other_towers_new(ms_model *model, ms_decoder *d);
/* A program's forward. */
void ms_gemma4_forward_whole(ms_model *model, const ms_model_inputs *in, ms_model_outputs *out);

#endif
