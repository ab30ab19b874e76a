/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * dots.llm1: Qwen3's attention and DeepSeek-V3's experts.
 */
#include "model/decoder/router_loss.h"
#include "model/mixture/deepseek.h"
#include "model/family/family_list.h"
#include "model/family/family_keys.h"
#include "model/mixture/deepseek_moe.h"

/* clang-format off */
#define REQUIRED(text, member)                                                                     \
    { .name = text, .kind = MS_KEY_COUNT, .offset = MEMBER(member), .minimum = 1,                  \
      .maximum = MAX_EXPERTS, .required = true }

static const ms_key keys[] = {
    COUNT("vocab_size", vocab_size, 152064, MAX_VOCAB),
    COUNT("hidden_size", hidden_size, 4608, MAX_HIDDEN),
    COUNT("intermediate_size", intermediate_size, 10944, MAX_INTERMEDIATE),
    COUNT("num_hidden_layers", num_layers, 62, MAX_LAYERS),
    COUNT("num_attention_heads", num_heads, 32, MAX_HEADS),
    KV_HEADS_OR(32),
    HEAD_DIM_FROM_HIDDEN,
    COUNT("max_position_embeddings", max_positions, 2048, MAX_POSITIONS),
    { .name = "n_routed_experts", .aliases = {"num_local_experts"}, .kind = MS_KEY_COUNT,
      .offset = MEMBER(num_experts), .minimum = 1, .maximum = MAX_EXPERTS, .required = true },
    REQUIRED("num_experts_per_tok", experts_per_token),
    REQUIRED("n_shared_experts", shared_experts),
    COUNT("moe_intermediate_size", expert_size, 1408, MAX_INTERMEDIATE),
    FIRST_SPARSE_LAYER(0),
    COUNT("n_group", expert_groups, 1, MAX_EXPERTS),
    COUNT("topk_group", chosen_groups, 1, MAX_EXPERTS),
    BOOL("norm_topk_prob", normalises_experts, false),
    ROUTER_LOGITS,
    ACTIVATION("hidden_act", MS_ACTIVATION_SILU),
    BOOL("tie_word_embeddings", tie_word_embeddings, false),
    BOOL("attention_bias", attention_bias, false),
    SLIDING_WINDOW,
    { .name = "max_window_layers", .kind = MS_KEY_COUNT, .offset = MEMBER(max_window_layers),
      .default_value = 62, .maximum = MAX_POSITIONS },
    LAYER_TYPES,
    FRACTION("attention_dropout", attention_dropout, 0),
    PAD_TOKEN,
    DECODER_IGNORED, IGNORED("routed_scaling_factor"), IGNORED("moe_layer_freq"), IGNORED("scoring_func"),
    IGNORED("pretraining_tp"),
};
/* clang-format on */

static const ms_deepseek_form form = {.route = ms_route_by_sigmoid, .has_bias = true};

static void *build_mlp(ms_model *model, const ms_decoder *d, uint32_t parent, uint32_t number)
{
    (void)d;
    return ms_deepseek_mlp_new(model, form, parent, number);
}

static bool build(ms_model *model)
{
    return ms_decoder_build(model, (ms_decoder_style){.qkv_bias = model->config->attention_bias,
                                                      .output_bias = model->config->attention_bias,
                                                      .head_norms = MS_HEAD_NORMS_AT_ONCE,
                                                      .mask_arguments = true,
                                                      .only_needed_masks = true,
                                                      .build_mlp = build_mlp,
                                                      .mlp = ms_deepseek_mlp,
                                                      .drop = ms_router_logits_drop});
}

static ms_status check(const ms_model_config *config, ms_error *err)
{
    return ms_check_groups(config, 2, err);
}

static uint8_t layer_kind(const ms_model_config *config, uint64_t layer)
{
    return ms_slides_from_max_window(config, layer) | ms_sparse_from_first(config, layer);
}

static const ms_model_program program = {build, ms_decoder_forward};

static const ms_family_facts facts = {
    .compared = MS_WITH_ZERO3 | MS_WITH_ZERO3_EXPERTS | MS_WITH_CHUNKED_LOSS,
    .peft = {.exchanged = ms_experts_of_qwen2_moe},
};

const ms_family ms_family_dots1 = {.model_type = "dots1",
                                   .facts = &facts,
                                   .classes = {{"Dots1ForCausalLM", MS_HEAD_CAUSAL_LM}},
                                   .keys = keys,
                                   .key_count = sizeof keys / sizeof *keys,
                                   .check = check,
                                   .layer_kind = layer_kind,
                                   .takes_cache = true,
                                   .program = &program};
