/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * OLMo 2 and OLMo 3: families/olmo2.family and families/olmo3.family have their keys, modules and
 * calls. OLMoE: the same attention with a mixture of experts, and norms in the usual places.
 */
#include "model/decoder/experts.h"
#include "model/decoder/router_loss.h"
#include "model/decoder/whole_norms.h"
#include "model/family/family_list.h"
#include "model/family/family_keys.h"

/* clang-format off */
static const ms_key moe_keys[] = {
    COUNT("vocab_size", vocab_size, 50304, MAX_VOCAB),
    COUNT("hidden_size", hidden_size, 2048, MAX_HIDDEN),
    COUNT("intermediate_size", intermediate_size, 2048, MAX_INTERMEDIATE),
    COUNT("num_hidden_layers", num_layers, 16, MAX_LAYERS),
    COUNT("num_attention_heads", num_heads, 16, MAX_HEADS),
    KV_HEADS_AS_HEADS,
    COUNT("max_position_embeddings", max_positions, 4096, MAX_POSITIONS),
    EXPERTS("num_experts", "num_local_experts", 64),
    EXPERTS_PER_TOKEN(8),
    BOOL("norm_topk_prob", normalises_experts, false),
    ROUTER_LOGITS,
    ACTIVATION("hidden_act", MS_ACTIVATION_SILU),
    BOOL("tie_word_embeddings", tie_word_embeddings, false),
    BOOL("attention_bias", attention_bias, false),
    IS_SET("clip_qkv", clips_projections, false),
    FRACTION("attention_dropout", attention_dropout, 0),
    PAD_TOKEN_OR(1),
    DECODER_IGNORED, IGNORED("router_aux_loss_coef"),
};
/* clang-format on */

static void *build_experts(ms_model *model, const ms_decoder *d, uint32_t parent, uint32_t number)
{
    (void)d, (void)number;
    return ms_sparse_mlp_new(model, parent, MS_ROUTER_FIRST);
}

static ms_tensor run_experts(ms_model *model, const ms_decoder_layer *layer, ms_tensor hidden)
{
    const ms_router_form form = {.normalises = model->config->normalises_experts,
                                 .casts_back = true};
    return ms_sparse_mlp(model, layer->mlp, form, hidden);
}

static bool build_moe(ms_model *model)
{
    return ms_decoder_build(model,
                            (ms_decoder_style){.qkv_bias = model->config->attention_bias,
                                               .output_bias = model->config->attention_bias,
                                               .build_attention = ms_whole_norm_attention_new,
                                               .attention = ms_whole_norm_attention,
                                               .build_mlp = build_experts,
                                               .mlp = run_experts,
                                               .add_loss = ms_router_loss_add,
                                               .drop = ms_router_logits_drop});
}

static ms_status check_moe(const ms_model_config *config, ms_error *err)
{
    if (config->clips_projections) {
        snprintf(err->pointer, sizeof err->pointer, "/clip_qkv");
        return ms_fail(err, MS_ERR_CONFIG, "clipped queries, keys and values are not supported");
    }
    ms_status status = ms_check_heads_divide(config, err);
    return status == MS_OK ? ms_check_experts(config, err) : status;
}

/* ---- families ---- */

static const ms_model_program moe_program = {build_moe, ms_decoder_forward};

static const ms_family_facts olmo2_facts = {
    .blocks =
        MS_BLOCK_PROJECTIONS | MS_BLOCK_WHOLE_NORMS | MS_BLOCK_MORE_NORMS | MS_BLOCK_GATED_MLP,
    .compared = MS_WITH_ZERO3 | MS_WITH_CHUNKED_LOSS,
    .casts_arguments = true,
    .liger = {.kernels = MS_LIGER_ALL,
              .norms = MS_LIGER_IS_LAYER | MS_LIGER_IS_LAST,
              .copying_norms = MS_LIGER_IS_LAYER,
              .logits_share = 1},
};

const ms_family ms_family_olmo2 = {.model_type = "olmo2",
                                   .facts = &olmo2_facts,
                                   .classes = {{"Olmo2ForCausalLM", MS_HEAD_CAUSAL_LM}},
                                   .check = ms_check_heads_divide,
                                   .takes_cache = true,
                                   .text_name = "olmo2"};

static const ms_family_facts olmo3_facts = {
    .compared = MS_WITH_TITAN_UNITS | MS_WITH_ZERO3 | MS_WITH_CONTEXT | MS_WITH_CHUNKED_LOSS,
    .casts_arguments = true,
    .liger = {.kernels = MS_LIGER_ALL,
              .norms = MS_LIGER_IS_LAYER | MS_LIGER_IS_LAST,
              .copying_norms = MS_LIGER_IS_LAYER,
              .logits_share = 1},
};

const ms_family ms_family_olmo3 = {
    .model_type = "olmo3",
    .facts = &olmo3_facts,
    .classes = {{"Olmo3ForCausalLM", MS_HEAD_CAUSAL_LM},
                {"Olmo3ForSequenceClassification", MS_HEAD_LAST_TOKEN}},
    .check = ms_check_heads_divide,
    .takes_cache = true,
    .text_name = "olmo3"};

static const ms_family_facts olmoe_facts = {
    .compared = MS_WITH_ZERO3 | MS_WITH_ZERO3_EXPERTS | MS_WITH_CHUNKED_LOSS,
    .peft = {.exchanged = ms_experts_of_qwen2_moe},
};

const ms_family ms_family_olmoe = {.model_type = "olmoe",
                                   .facts = &olmoe_facts,
                                   .classes = {{"OlmoeForCausalLM", MS_HEAD_CAUSAL_LM}},
                                   .keys = moe_keys,
                                   .key_count = sizeof moe_keys / sizeof *moe_keys,
                                   .check = check_moe,
                                   .layer_kind = ms_sparse_everywhere,
                                   .takes_cache = true,
                                   .program = &moe_program};
