/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The parameters of the vision tower of Qwen3.5, that of Qwen3-VL, which text alone does not run.
 */
#ifndef MS_MODEL_VISION_QWEN_QWEN3_TOWER_H
#define MS_MODEL_VISION_QWEN_QWEN3_TOWER_H

#include "model/blocks/model.h"
#include "model/family/family_keys.h"

/* Creates the parameters below `parent`, from config->vision; a member of ms_family. */
bool ms_qwen_vision_new(ms_model *model, uint32_t parent);

/* Keys of the object "vision_config". */
#define QWEN_VISION_KEYS                                                                           \
    COUNT_AS("depth", "num_hidden_layers", vision.num_layers, 27, MAX_LAYERS),                     \
        COUNT("hidden_size", vision.hidden_size, 1152, MAX_HIDDEN),                                \
        COUNT("intermediate_size", vision.intermediate_size, 4304, MAX_INTERMEDIATE),              \
        COUNT_AS("num_heads", "num_attention_heads", vision.num_heads, 16, MAX_HEADS),             \
        COUNT("in_channels", vision.channels, 3, MAX_HEADS),                                       \
        COUNT("patch_size", vision.patch_size, 16, MAX_HEADS),                                     \
        COUNT("spatial_merge_size", vision.merge_size, 2, 64),                                     \
        COUNT("temporal_patch_size", vision.frames, 2, MAX_HEADS),                                 \
        COUNT("out_hidden_size", vision.out_size, 3584, MAX_HIDDEN),                               \
        COUNT("num_position_embeddings", vision.positions, 2304, MAX_POSITIONS),                   \
    {                                                                                              \
        .name = "hidden_act", .kind = MS_KEY_ACTIVATION, .offset = MEMBER(vision.activation),      \
        .default_value = MS_ACTIVATION_GELU_TANH                                                   \
    }

#endif
