/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The vision towers of Qwen3-VL and Qwen3.5: parameters only. They have no
 * forward, since text-only training does not run them.
 */
#ifndef MS_MODEL_VISION_QWEN_VISION_H
#define MS_MODEL_VISION_QWEN_VISION_H

#include "model/family/family_keys.h"
#include "model/blocks/model.h"

/* Creates the parameters below `parent`, from config->vision; a member of ms_decoder_style. */
bool ms_qwen_vision_new(ms_model *model, uint32_t parent);

/* Keys of the object "vision_config". */
#define QWEN_VISION_KEYS                                                                           \
    COUNT("depth", vision.num_layers, 27, MAX_LAYERS),                                             \
        COUNT("hidden_size", vision.hidden_size, 1152, MAX_HIDDEN),                                \
        COUNT("intermediate_size", vision.intermediate_size, 4304, MAX_INTERMEDIATE),              \
        COUNT("num_heads", vision.num_heads, 16, MAX_HEADS),                                       \
        COUNT("in_channels", vision.channels, 3, MAX_HEADS),                                       \
        COUNT("patch_size", vision.patch_size, 16, MAX_HEADS),                                     \
        COUNT("spatial_merge_size", vision.merge_size, 2, 64),                                     \
        COUNT("temporal_patch_size", vision.frames, 2, MAX_HEADS),                                 \
        COUNT("out_hidden_size", vision.out_size, 3584, MAX_HIDDEN),                               \
        COUNT("num_position_embeddings", vision.positions, 2304, MAX_POSITIONS)

#endif
