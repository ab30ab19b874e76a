/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What models with images share: their tokens among the text's, their number, and the back end of
 * attention in a tower.
 */
#ifndef MS_MODEL_BLOCKS_IMAGES_H
#define MS_MODEL_BLOCKS_IMAGES_H

#include "model/blocks/model.h"

/* The back end of the heads of a tower, all of one width; no dropout. */
ms_attention ms_tower_backend(const ms_model *model);

/* The sum of a mask of tokens, a local of `f`; `compares`: times the width it is compared with the
 * number of features, and the answer is read. */
void ms_count_image_tokens(ms_tape *tape, ms_locals *f, ms_tensor mask, bool compares);
/* get_placeholder_mask: which ids [B, S] are image tokens, [B, S, 1], floating; their number is
 * compared. */
ms_tensor ms_image_token_mask(ms_model *model, ms_tensor ids);

/* How many images the batch has. */
uint32_t ms_image_count(const ms_model *model);
/* Features of all images, split by image and joined: floating. */
ms_tensor ms_join_images(ms_model *model, ms_tensor features);
/* The same of pictures, [pictures, tokens, H], which list() takes apart: [pictures * tokens, H]. */
ms_tensor ms_join_pictures(ms_model *model, ms_tensor features);

#endif
