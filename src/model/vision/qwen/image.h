/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What Qwen's processor and vision tower make of an image.
 */
#ifndef MS_MODEL_VISION_QWEN_IMAGE_H
#define MS_MODEL_VISION_QWEN_IMAGE_H

#include "base/error.h"
#include "input/config/model/family.h"

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

/* Windows of Qwen2.5-VL's attention in an image: so many rows and columns, those at the right and
 * lower edge smaller. The tower's list has one more of each, empty where the last is whole. */
typedef struct ms_qwen_windows {
    uint64_t rows, columns;
    uint64_t listed; /* with the empty ones */
} ms_qwen_windows;
ms_qwen_windows ms_qwen_windows_of(const ms_vision_config *vision, const ms_image_grid *grid);
/* The patches of a window. */
uint64_t ms_qwen_window_patches(const ms_vision_config *vision, const ms_image_grid *grid,
                                uint64_t row, uint64_t column);

#endif
