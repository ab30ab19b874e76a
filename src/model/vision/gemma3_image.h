/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Where an image of Gemma 3 goes: a family's `place_image`.
 */
#ifndef MS_MODEL_VISION_GEMMA3_IMAGE_H
#define MS_MODEL_VISION_GEMMA3_IMAGE_H

#include "input/config/model/family.h"

/* Of any size the processor makes a picture of the tower's, and the model tokens by pooling square
 * windows of patches. */
ms_status ms_gemma3_place_image(const ms_model_config *config, const uint64_t sides[2],
                                ms_image_grid *grid, ms_error *err);

#endif
