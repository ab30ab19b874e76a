/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Masks in which the tokens of one image see each other.
 */
#ifndef MS_MODEL_BLOCKS_IMAGE_MASKS_H
#define MS_MODEL_BLOCKS_IMAGE_MASKS_H

#include "model/blocks/model.h"

/* The number of each token's image, or of its video where these count, -1 for text: [B, S],
 * floating; of the kinds of tokens, which look like `ids` [B, S] (get_block_sequence_ids_for_mask).
 */
ms_tensor ms_image_blocks(ms_model *model, ms_tensor ids, bool or_videos);

/* A mask, causal, but that tokens of one image see each other; within the window if it slides:
 * [B, 1, S, S], additive for eager attention, floating. It is never left out
 * (create_masks_for_vision_model). */
ms_tensor ms_image_mask(ms_model *model, bool sliding);

#endif
