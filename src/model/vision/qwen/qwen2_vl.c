/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Qwen2-VL and Qwen2.5-VL: Qwen2 with rotary tables of three grids, and a vision tower, which runs
 * where there are images.
 */
#include "model/blocks/blocks.h"
#include "model/decoder/decoder.h"
#include "model/family/family_keys.h"
#include "model/family/family_list.h"
#include "model/vision/qwen/qwen2_images.h"
#include "model/vision/qwen/qwen2_tower.h"
#include "model/vision/qwen/image.h"

/* clang-format off */
static const ms_key keys[] = {
    COUNT("vocab_size", vocab_size, 152064, MAX_VOCAB),
    COUNT("hidden_size", hidden_size, 8192, MAX_HIDDEN),
    COUNT("intermediate_size", intermediate_size, 29568, MAX_INTERMEDIATE),
    COUNT("num_hidden_layers", num_layers, 80, MAX_LAYERS),
    COUNT("num_attention_heads", num_heads, 64, MAX_HEADS),
    KV_HEADS_OR(8),
    COUNT("max_position_embeddings", max_positions, 32768, MAX_POSITIONS),
    ACTIVATION("hidden_act", MS_ACTIVATION_SILU),
    FRACTION("attention_dropout", attention_dropout, 0),
    FIXED("use_sliding_window", false),
    LAYER_TYPES,
    PAD_TOKEN,
    DECODER_IGNORED,
    IGNORED("sliding_window"), IGNORED("max_window_layers"), IGNORED("tie_word_embeddings"),
};

/* The first files say in the text model's object whether words are tied. */
static const ms_key whole_keys[] = {
    { .name = "tie_word_embeddings", .aliases = {"/text_config/tie_word_embeddings"},
      .kind = MS_KEY_BOOL, .offset = MEMBER(tie_word_embeddings) },
};

/* The text model's width is "hidden_size" here. */
static const ms_key vision_keys[] = {
    COUNT_AS("depth", "num_hidden_layers", vision.num_layers, 32, MAX_LAYERS),
    COUNT("embed_dim", vision.hidden_size, 1280, MAX_HIDDEN),
    COUNT("mlp_ratio", vision.mlp_ratio, 4, 64),
    COUNT_AS("num_heads", "num_attention_heads", vision.num_heads, 16, MAX_HEADS),
    COUNT("in_channels", vision.channels, 3, MAX_HEADS),
    COUNT("patch_size", vision.patch_size, 14, MAX_HEADS),
    COUNT("spatial_merge_size", vision.merge_size, 2, 64),
    COUNT("temporal_patch_size", vision.frames, 2, MAX_HEADS),
    COUNT("hidden_size", vision.out_size, 3584, MAX_HIDDEN),
    { .name = "hidden_act", .kind = MS_KEY_ACTIVATION, .offset = MEMBER(vision.activation),
      .default_value = MS_ACTIVATION_QUICK_GELU },
};

static const ms_key windowed_keys[] = {
    COUNT_AS("depth", "num_hidden_layers", vision.num_layers, 32, MAX_LAYERS),
    COUNT("hidden_size", vision.hidden_size, 3584, MAX_HIDDEN),
    COUNT("intermediate_size", vision.intermediate_size, 3420, MAX_INTERMEDIATE),
    COUNT_AS("num_heads", "num_attention_heads", vision.num_heads, 16, MAX_HEADS),
    COUNT("in_channels", vision.channels, 3, MAX_HEADS),
    COUNT("patch_size", vision.patch_size, 14, MAX_HEADS),
    COUNT("spatial_merge_size", vision.merge_size, 2, 64),
    COUNT("temporal_patch_size", vision.frames, 2, MAX_HEADS),
    COUNT("out_hidden_size", vision.out_size, 3584, MAX_HIDDEN),
    COUNT("window_size", vision.window_size, 112, MAX_POSITIONS),
    { .name = "fullatt_block_indexes", .kind = MS_KEY_NUMBERS, .offset = MEMBER(vision.marked_blocks),
      .default_value = 0x80808080, .maximum = MS_MOST_BLOCKS - 1 },
    { .name = "hidden_act", .kind = MS_KEY_ACTIVATION, .offset = MEMBER(vision.activation),
      .default_value = MS_ACTIVATION_SILU },
};
/* clang-format on */

static bool build(ms_model *model)
{
    return ms_decoder_build(model, (ms_decoder_style){.qkv_bias = true,
                                                      .projects_first = true,
                                                      .mask_arguments = true,
                                                      .masks_without_positions = true,
                                                      .layers_without_positions = true,
                                                      .rotary_tables = ms_rotary_of_sections,
                                                      .build_towers = ms_qwen2_tower_new,
                                                      .run_with_images = ms_qwen2_run_with_images});
}

static const ms_model_program program = {build, ms_decoder_forward};

/* "mlp_ratio" times the blocks' width. */
static ms_status derive(ms_model_config *config, ms_error *err)
{
    (void)err;
    config->vision.intermediate_size = config->vision.hidden_size * config->vision.mlp_ratio;
    return MS_OK;
}

#define MORE_TABLES(vision)                                                                        \
    {                                                                                              \
        {NULL, NULL, whole_keys, sizeof whole_keys / sizeof *whole_keys},                          \
            {"vision_config", NULL, vision, sizeof vision / sizeof *vision},                       \
    }

static const ms_key_table more[] = MORE_TABLES(vision_keys);
static const ms_key_table windowed_more[] = MORE_TABLES(windowed_keys);

static const ms_family_facts qwen2_vl_facts = {
    .compared = MS_WITH_ZERO3,
};

const ms_family ms_family_qwen2_vl = {
    .model_type = "qwen2_vl",
    .facts = &qwen2_vl_facts,
    .classes = {{"Qwen2VLForConditionalGeneration", MS_HEAD_CAUSAL_LM}},
    .keys = keys,
    .key_count = sizeof keys / sizeof *keys,
    .object = "text_config",
    .object_type = "qwen2_vl_text",
    .may_be_flat = true,
    .more = more,
    .more_count = sizeof more / sizeof *more,
    .derive = derive,
    .check = ms_check_heads_divide,
    .place_image = ms_qwen2_place_image,
    .program = &program};

static const ms_family_facts qwen2_5_vl_facts = {
    .compared = MS_WITH_ZERO3,
};

const ms_family ms_family_qwen2_5_vl = {
    .model_type = "qwen2_5_vl",
    .facts = &qwen2_5_vl_facts,
    .classes = {{"Qwen2_5_VLForConditionalGeneration", MS_HEAD_CAUSAL_LM}},
    .keys = keys,
    .key_count = sizeof keys / sizeof *keys,
    .object = "text_config",
    .object_type = "qwen2_5_vl_text",
    .may_be_flat = true,
    .more = windowed_more,
    .more_count = sizeof windowed_more / sizeof *windowed_more,
    .check = ms_check_heads_divide,
    .place_image = ms_qwen2_5_place_image,
    .program = &program};
