/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Qwen3-VL: Qwen3 with or without experts, rotary tables of three grids, and a vision tower, which
 * runs where there are images.
 */
#include "input/config/model/family.h"
#include "model/decoder/decoder_mlp.h"
#include "model/decoder/experts.h"
#include "model/decoder/router_loss.h"
#include "model/family/family_list.h"
#include "model/vision/qwen/qwen3_images.h"
#include "model/vision/qwen/image.h"
#include "model/vision/qwen/qwen3_tower.h"

/* clang-format off */
static const ms_key dense_keys[] = {
    COUNT("vocab_size", vocab_size, 151936, MAX_VOCAB),
    COUNT("hidden_size", hidden_size, 4096, MAX_HIDDEN),
    COUNT("intermediate_size", intermediate_size, 22016, MAX_INTERMEDIATE),
    COUNT("num_hidden_layers", num_layers, 32, MAX_LAYERS),
    COUNT("num_attention_heads", num_heads, 32, MAX_HEADS),
    KV_HEADS_OR(32),
    COUNT("head_dim", head_dim, 128, MAX_HEAD_DIM),
    COUNT("max_position_embeddings", max_positions, 128000, MAX_POSITIONS),
    ACTIVATION("hidden_act", MS_ACTIVATION_SILU),
    BOOL("attention_bias", attention_bias, false),
    FRACTION("attention_dropout", attention_dropout, 0),
    PAD_TOKEN,
    DECODER_IGNORED, IGNORED("tie_word_embeddings"),
};

static const ms_key moe_keys[] = {
    COUNT("vocab_size", vocab_size, 151936, MAX_VOCAB),
    COUNT("hidden_size", hidden_size, 2048, MAX_HIDDEN),
    COUNT("intermediate_size", intermediate_size, 5632, MAX_INTERMEDIATE),
    COUNT("num_hidden_layers", num_layers, 24, MAX_LAYERS),
    COUNT("num_attention_heads", num_heads, 16, MAX_HEADS),
    COUNT("num_key_value_heads", num_kv_heads, 16, MAX_HEADS),
    HEAD_DIM_FROM_HIDDEN,
    COUNT("max_position_embeddings", max_positions, 128000, MAX_POSITIONS),
    EXPERTS("num_experts", "num_local_experts", 60),
    EXPERTS_PER_TOKEN(4),
    COUNT("moe_intermediate_size", expert_size, 1408, MAX_INTERMEDIATE),
    COUNT("decoder_sparse_step", sparse_step, 1, MAX_LAYERS),
    DENSE_LAYERS,
    ROUTER_LOGITS,
    ACTIVATION("hidden_act", MS_ACTIVATION_SILU),
    BOOL("attention_bias", attention_bias, false),
    FRACTION("attention_dropout", attention_dropout, 0),
    PAD_TOKEN,
    DECODER_IGNORED, IGNORED("tie_word_embeddings"), IGNORED("router_aux_loss_coef"), IGNORED("norm_topk_prob"),
};

static const ms_key whole_keys[] = { BOOL("tie_word_embeddings", tie_word_embeddings, false) };

static const ms_key vision_keys[] = {
    QWEN_VISION_KEYS,
    { .name = "deepstack_visual_indexes", .kind = MS_KEY_NUMBERS, .offset = MEMBER(vision.marked_blocks),
      .default_value = 0x1010100, .maximum = MS_MOST_BLOCKS - 1 },
};
/* clang-format on */

static ms_decoder_style style_of(const ms_model_config *config)
{
    return (ms_decoder_style){.qkv_bias = config->attention_bias,
                              .output_bias = config->attention_bias,
                              .head_norms = MS_HEAD_NORMS_AT_ONCE,
                              .rotary_tables = ms_rotary_of_grids,
                              .build_towers = ms_qwen_vision_new};
}

static bool build(ms_model *model)
{
    ms_decoder_style style = style_of(model->config);
    ms_qwen3_see_images(model, &style);
    return ms_decoder_build(model, style);
}

/* ---- with experts ---- */

static void *build_mlp(ms_model *model, const ms_decoder *d, uint32_t parent, uint32_t number)
{
    return ms_layer_is_sparse(model, number) ? ms_sparse_mlp_new(model, parent, MS_EXPERTS_FIRST)
                                             : ms_gated_mlp_new(model, d, parent, number);
}

static ms_tensor mlp(ms_model *model, const ms_decoder_layer *layer, ms_tensor hidden)
{
    static const ms_router_form form = {.normalises = true, .casts_back = true};
    return ms_layer_is_sparse(model, layer->number) ? ms_sparse_mlp(model, layer->mlp, form, hidden)
                                                    : ms_gated_mlp(model, layer, hidden);
}

static bool build_moe(ms_model *model)
{
    ms_decoder_style style = style_of(model->config);
    style.build_mlp = build_mlp;
    style.mlp = mlp;
    style.add_loss = ms_router_loss_add;
    style.drop = ms_router_logits_drop;
    ms_qwen3_see_images(model, &style);
    return ms_decoder_build(model, style);
}

static uint8_t moe_kind(const ms_model_config *config, uint64_t layer)
{
    return (layer + 1) % config->sparse_step == 0 ? MS_LAYER_SPARSE : 0;
}

/* ---- families ---- */

static const ms_model_program program = {build, ms_decoder_forward};
static const ms_model_program moe_program = {build_moe, ms_decoder_forward};

static const ms_key_table more[] = {
    {NULL, NULL, whole_keys, sizeof whole_keys / sizeof *whole_keys},
    {"vision_config", NULL, vision_keys, sizeof vision_keys / sizeof *vision_keys},
};

static const ms_family_facts qwen3_vl_facts = {
    .has_head_norms = true,
};

const ms_family ms_family_qwen3_vl = {
    .model_type = "qwen3_vl",
    .facts = &qwen3_vl_facts,
    .classes = {{"Qwen3VLForConditionalGeneration", MS_HEAD_CAUSAL_LM}},
    .keys = dense_keys,
    .key_count = sizeof dense_keys / sizeof *dense_keys,
    .object = "text_config",
    .object_type = "qwen3_vl_text",
    .more = more,
    .more_count = sizeof more / sizeof *more,
    .place_image = ms_qwen3_place_image,
    .unpredicted = MS_UNPREDICTED_IMAGES_ON_RANKS,
    .program = &program};

static const ms_family_facts qwen3_vl_moe_facts = {
    .compared = MS_WITH_ZERO3 | MS_WITH_ZERO3_EXPERTS,
    .has_head_norms = true,
};

const ms_family ms_family_qwen3_vl_moe = {
    .model_type = "qwen3_vl_moe",
    .facts = &qwen3_vl_moe_facts,
    .classes = {{"Qwen3VLMoeForConditionalGeneration", MS_HEAD_CAUSAL_LM}},
    .keys = moe_keys,
    .key_count = sizeof moe_keys / sizeof *moe_keys,
    .object = "text_config",
    .object_type = "qwen3_vl_moe_text",
    .more = more,
    .more_count = sizeof more / sizeof *more,
    .check = ms_check_experts,
    .layer_kind = moe_kind,
    .place_image = ms_qwen3_place_image,
    .unpredicted = MS_UNPREDICTED_IMAGES_ON_RANKS,
    .program = &moe_program};
