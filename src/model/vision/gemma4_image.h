/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What Gemma 4's processor makes of an image.
 */
#ifndef MS_MODEL_VISION_GEMMA4_IMAGE_H
#define MS_MODEL_VISION_GEMMA4_IMAGE_H

#include "input/config/model/family.h"

/* A family's `place_image`: as large as 280 tokens allow, with the sides' ratio kept and each side
 * a multiple of a pooled square of patches (get_aspect_ratio_preserving_size of
 * Gemma4ImageProcessor, with the number of tokens of the published processors). */
ms_status ms_gemma4_place_image(const ms_model_config *config, const uint64_t sides[2],
                                ms_image_grid *grid, ms_error *err);

#endif
