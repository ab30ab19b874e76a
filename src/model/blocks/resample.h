/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A square table of learned positions, resampled to the grids of images.
 */
#ifndef MS_MODEL_BLOCKS_RESAMPLE_H
#define MS_MODEL_BLOCKS_RESAMPLE_H

#include "model/blocks/model.h"

/* get_vision_interpolation_indices_and_weights, bilinear: out[0], four rows of the table for each
 * patch, int64 [patches, 4], and out[1], their weights in fp32; floating. */
void ms_resampled_places(ms_model *model, ms_tensor out[2]);

#endif
