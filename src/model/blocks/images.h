/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What models with images share: their tokens among the text's, their number, and the back end of
 * attention in a tower.
 */
#ifndef MS_MODEL_BLOCKS_IMAGES_H
#define MS_MODEL_BLOCKS_IMAGES_H

#include "model/blocks/model.h"

/* The back ends of the heads of a tower, all of one width; no dropout; without a mask. */
ms_backends ms_tower_backends(const ms_model *model);
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

/* Which ids are image tokens, [B, S, 1], and which are of videos, [B, S], for locals of `f`. */
void ms_image_video_masks(ms_model *model, ms_locals *f, ms_tensor ids, ms_tensor *image,
                          ms_tensor *video);

/* Attention of [1, heads, patches, width] both ways: [1, patches, heads, width], floating. */
ms_tensor ms_tower_attend(ms_tape *tape, ms_attention backend, ms_tensor q, ms_tensor k,
                          ms_tensor v);

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

/* get_vision_position_ids: rows and columns of each image's patches, int64 [patches, 2], floating.
 */
ms_tensor ms_image_grid_places(ms_model *model);
/* get_rope_index: positions of three grids in the text, int64 [3, B, S], floating; how far images
 * move the positions stays with the model until the next pass. */
ms_tensor ms_qwen_positions(ms_model *model);

#endif
