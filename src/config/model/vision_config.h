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
     * of the position table; additional mergers for inner layers */
    uint64_t merge_size, frames, out_size, positions, deep_mergers;
    uint64_t projector_in, projector_out; /* llama4: widths of the MLP behind the tower */
    /* Qwen2.5-VL: side of a window of attention in pixels; the blocks, a bit each, whose attention
     * sees the whole image; the function of a tower's MLPs */
    uint64_t window_size;
    uint64_t whole_blocks[MS_MOST_BLOCKS / 64];
    ms_activation activation;
    uint64_t tokens; /* gemma3: of each picture, a square number */
} ms_vision_config;

/* What the tower makes of an image: patches by rows and columns, and tokens among the text's. */
typedef struct ms_image_grid {
    uint64_t rows, columns, tokens;
} ms_image_grid;

/* What a processor gives the model beside the ids: rows of patches, the grid of each image and the
 * kind of each token; pictures of the tower's size and the kind of each token. */
typedef enum ms_image_input { MS_IMAGES_AS_PATCHES, MS_IMAGES_WITH_KINDS } ms_image_input;

#endif
