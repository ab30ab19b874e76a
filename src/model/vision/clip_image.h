/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * CLIP's processor of images.
 */
#ifndef MS_MODEL_VISION_CLIP_IMAGE_H
#define MS_MODEL_VISION_CLIP_IMAGE_H

#include "input/config/model/family.h"

/* A family's `place_image`: of any size the processor makes a picture of the tower's. */
ms_status ms_clip_place_image(const ms_model_config *config, const uint64_t sides[2],
                              ms_image_grid *grid, ms_error *err);

#endif
