/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The tokens of a sequence that stand for images.
 */
#ifndef MS_MODEL_VISION_IMAGE_TOKENS_H
#define MS_MODEL_VISION_IMAGE_TOKENS_H

#include "model/blocks/images.h"
#include "model/decoder/decoder.h"

/* A model's forward whose result has the features of its images too: `run` gives the last hidden
 * states, floating, and *features, retained, or leaves them. */
typedef ms_tensor (*ms_run_features)(ms_model *model, ms_decoder *d, ms_tensor ids,
                                     ms_tensor *features);
void ms_forward_with_features(ms_model *model, const ms_model_inputs *in, ms_model_outputs *out,
                              ms_run_features run);

/* The number of each token's image, or of its video where these count, -1 for text: [B, S],
 * floating; of the kinds of tokens, which look like `ids` [B, S] (get_block_sequence_ids_for_mask).
 */
ms_tensor ms_image_blocks(ms_model *model, ms_tensor ids, bool or_videos);

/* A mask, causal, but that tokens of one image see each other; within the window if it slides:
 * [B, 1, S, S], additive for eager attention, floating. It is never left out
 * (create_masks_for_vision_model). */
ms_tensor ms_image_mask(ms_model *model, bool sliding);

#endif
