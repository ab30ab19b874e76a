/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What a config says of the vision tower before a language model.
 */
#ifndef MS_INPUT_CONFIG_MODEL_VISION_CONFIG_H
#define MS_INPUT_CONFIG_MODEL_VISION_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "input/config/model/activation.h"

enum { MS_MOST_BLOCKS = 4096 };

/* The vision tower of multimodal models. */
typedef struct ms_vision_config {
    uint64_t hidden_size, intermediate_size, num_layers, num_heads;
    uint64_t image_size, patch_size, channels; /* in pixels; channels: colours */
    bool has_head;                             /* has an attention pooling head */
    /* Qwen: patches merged into one token, per side; frames per patch; width of merged tokens; rows
     * of the position table */
    uint64_t merge_size, frames, out_size, positions;
    uint64_t mlp_ratio;                   /* Qwen2-VL: intermediate_size / hidden_size */
    uint64_t projector_in, projector_out; /* llama4: widths of the MLP behind the tower */
    uint64_t window_size;                 /* Qwen2.5-VL: side of a window of attention in pixels;
                                           * 0: none */
    /* Blocks, a bit each: Qwen2.5-VL's whose attention sees the whole image, Qwen3-VL's that have a
     * merger of their own */
    uint64_t marked_blocks[MS_MOST_BLOCKS / 64];
    ms_activation activation; /* of the blocks' MLPs */
    uint64_t tokens;          /* gemma3: of each picture, a square number */
    /* gemma4: key heads; width of a head; patches pooled into one token, per side */
    uint64_t num_kv_heads, head_dim, pool_size;
    /* gemma4: linear layers have four bounds; tokens are moved and scaled by two buffers */
    bool has_bounds, standardizes;
    double dropout; /* gemma4, llava: of attention */
    /* llava: states that are projected, by their number, from the end where it is negative; as many
     * layers run before them; with those of the class token; whether the projector has biases */
    int64_t feature_layer;
    uint64_t feature_layers;
    bool keeps_class, projector_bias;
    ms_activation projector_activation; /* llava */
} ms_vision_config;

/* gemma4: the tower for sounds; all 0: none. */
typedef struct ms_audio_config {
    uint64_t hidden_size, num_layers, num_heads;
    uint64_t kernel_size; /* of a layer's convolution */
    uint64_t channels[2]; /* of the two convolutions before the layers */
    uint64_t out_size;    /* width of what the projection to the text model reads */
    bool has_bounds;      /* linear layers have four bounds */
} ms_audio_config;

/* What the tower makes of an image: patches by rows and columns, and tokens among the text's. */
typedef struct ms_image_grid {
    uint64_t rows, columns, tokens;
    uint64_t stored; /* gemma4: patches that the processor gives, with padding */
} ms_image_grid;

/* What a processor gives the model beside the ids: rows of patches, the grid of each image and the
 * kind of each token; pictures of the tower's size, and the kind of each token or nothing else;
 * patches of each image with padding, the place of each patch, and the kind of each token. */
typedef enum ms_image_input {
    MS_IMAGES_AS_PATCHES,
    MS_IMAGES_WITH_KINDS,
    MS_IMAGES_AS_PICTURES,
    MS_IMAGES_PADDED
} ms_image_input;

#endif
