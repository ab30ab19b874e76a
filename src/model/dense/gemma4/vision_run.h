/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A pass of Gemma 4's tower for pictures.
 */
#ifndef MS_MODEL_DENSE_GEMMA4_VISION_RUN_H
#define MS_MODEL_DENSE_GEMMA4_VISION_RUN_H

#include "model/dense/gemma4/vision_tower.h"

/* Runs it on model->pixel_values and model->image_places: the tokens of all images, [tokens, Hv],
 * floating. */
ms_tensor ms_gemma4_vision_run(ms_model *model);

#endif
