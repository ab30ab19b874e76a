/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What a config says of the vision tower before a language model.
 */
#ifndef MS_CONFIG_MODEL_VISION_CONFIG_H
#define MS_CONFIG_MODEL_VISION_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "config/model/activation.h"

enum { MS_MOST_BLOCKS = 4096 };

/* The vision tower of multimodal models. */
typedef struct ms_vision_config {
    uint64_t hidden_size, intermediate_size, num_layers, num_heads;
    uint64_t image_size, patch_size, channels; /* in pixels; channels: colours */
    bool has_head;                             /* has an attention pooling head */
    /* Qwen: patches merged into one token, per side; frames per patch; width of merged tokens; rows
     * of the position table */
    uint64_t merge_size, frames, out_size, positions;
    uint64_t projector_in, projector_out; /* llama4: widths of the MLP behind the tower */
    uint64_t window_size;                 /* Qwen2.5-VL: side of a window of attention in pixels */
    /* Blocks, a bit each: Qwen2.5-VL's whose attention sees the whole image, Qwen3-VL's that have a
     * merger of their own */
    uint64_t marked_blocks[MS_MOST_BLOCKS / 64];
    ms_activation activation; /* of the blocks' MLPs */
    uint64_t tokens;          /* gemma3: of each picture, a square number */
} ms_vision_config;

/* What the tower makes of an image: patches by rows and columns, and tokens among the text's. */
typedef struct ms_image_grid {
    uint64_t rows, columns, tokens;
} ms_image_grid;

/* What a processor gives the model beside the ids: rows of patches, the grid of each image and the
 * kind of each token; pictures of the tower's size and the kind of each token. */
typedef enum ms_image_input { MS_IMAGES_AS_PATCHES, MS_IMAGES_WITH_KINDS } ms_image_input;

#endif
