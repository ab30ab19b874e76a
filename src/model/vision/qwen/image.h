/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What Qwen's processor and vision tower make of an image.
 */
#ifndef MS_MODEL_VISION_QWEN_IMAGE_H
#define MS_MODEL_VISION_QWEN_IMAGE_H

#include "base/error.h"
#include "input/config/model/family.h"
#include "model/blocks/images.h"

/* A family's `place_image`: the sides, each rounded to a multiple of a merged patch, within 3,136
 * and 12,845,056 pixels (smart_resize of Qwen2VLImageProcessor, with the limits of the published
 * preprocessor_config.json). */
ms_status ms_qwen2_place_image(const ms_model_config *config, const uint64_t sides[2],
                               ms_image_grid *grid, ms_error *err);

/* The same of Qwen2.5-VL, whose windows must not be empty. */
ms_status ms_qwen2_5_place_image(const ms_model_config *config, const uint64_t sides[2],
                                 ms_image_grid *grid, ms_error *err);

/* The same of Qwen3-VL: within 65,536 and 16,777,216 pixels. */
ms_status ms_qwen3_place_image(const ms_model_config *config, const uint64_t sides[2],
                               ms_image_grid *grid, ms_error *err);

#endif
