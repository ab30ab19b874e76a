/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Llama 4's vision tower, whose weights exist in a step on text alone, which does not run it.
 */
#ifndef MS_MODEL_VISION_LLAMA4_VISION_H
#define MS_MODEL_VISION_LLAMA4_VISION_H

#include "model/blocks/model.h"

/* "vision_model" and "multi_modal_projector", beside the text model. */
void ms_llama4_vision_new(ms_model *model);

#endif
