/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The layers of Gemma 4's tower for pictures.
 */
#ifndef MS_MODEL_DENSE_GEMMA4_VISION_LAYERS_H
#define MS_MODEL_DENSE_GEMMA4_VISION_LAYERS_H

#include "model/dense/gemma4/vision_tower.h"

/* Runs its layers on [images, patches, Hv]: the same, floating. */
ms_tensor ms_gemma4_vision_layers(ms_model *model, ms_tensor hidden);

#endif
