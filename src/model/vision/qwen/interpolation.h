/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * How a square table of learned positions is resampled to the grids of images.
 */
#ifndef MS_MODEL_VISION_QWEN_INTERPOLATION_H
#define MS_MODEL_VISION_QWEN_INTERPOLATION_H

#include "model/blocks/model.h"

/* get_vision_interpolation_indices_and_weights, bilinear: out[0], four rows of the table for each
 * patch, int64 [patches, 4], and out[1], their weights in fp32; floating. */
void ms_qwen_interpolate(ms_model *model, ms_tensor out[2]);

#endif
