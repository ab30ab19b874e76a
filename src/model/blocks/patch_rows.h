/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Gemma 4's images: patches of each, padded to one number. What is computed with the places of
 * patches, and kept for no gradient.
 */
#ifndef MS_MODEL_BLOCKS_PATCH_ROWS_H
#define MS_MODEL_BLOCKS_PATCH_ROWS_H

#include "model/blocks/model.h"

/* Which patches are padding, [images, patches]; all of these float. */
ms_tensor ms_patch_padding(ms_model *model);
/* Which patches see which, [images, 1, patches, patches], additive for eager attention; 0 where
 * there is no padding, which is read. */
ms_tensor ms_patch_mask(ms_model *model);
/* The places, clamped; how many columns each image has; in which square of patches each is. */
void ms_patch_squares(ms_model *model, ms_tensor out[3]);
/* Which tokens have patches, [images, tokens], of each patch's share in each token, [images,
 * patches, tokens]. */
ms_tensor ms_pooled_tokens(ms_model *model, ms_tensor shares);
/* How many tokens each image has, which is read. */
void ms_count_patches(ms_model *model);
/* The number of elements of the embeddings of image tokens, of a mask as wide as these. */
void ms_count_image_elements(ms_model *model, ms_tensor embeds);

#endif
