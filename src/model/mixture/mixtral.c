/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Mixtral: Mistral with every MLP replaced by experts, weighted in fp32.
 */
#include "model/decoder/experts.h"
#include "model/decoder/router_loss.h"
#include "model/family/family_list.h"
#include "model/family/family_keys.h"

/* clang-format off */
static const ms_key keys[] = {
    COUNT("vocab_size", vocab_size, 32000, MAX_VOCAB),
    COUNT("hidden_size", hidden_size, 4096, MAX_HIDDEN),
    COUNT("intermediate_size", intermediate_size, 14336, MAX_INTERMEDIATE),
    COUNT("num_hidden_layers", num_layers, 32, MAX_LAYERS),
    COUNT("num_attention_heads", num_heads, 32, MAX_HEADS),
    COUNT("num_key_value_heads", num_kv_heads, 8, MAX_HEADS),
    HEAD_DIM_FROM_HIDDEN,
    COUNT("max_position_embeddings", max_positions, 131072, MAX_POSITIONS),
    EXPERTS("num_local_experts", "num_experts", 8),
    EXPERTS_PER_TOKEN(2),
    ROUTER_LOGITS,
    ACTIVATION("hidden_act", MS_ACTIVATION_SILU),
    BOOL("tie_word_embeddings", tie_word_embeddings, false),
    NO_SLIDING_WINDOW,
    FRACTION("attention_dropout", attention_dropout, 0),
    FRACTION("router_jitter_noise", router_jitter, 0),
    PAD_TOKEN,
    DECODER_IGNORED, IGNORED("router_aux_loss_coef"),
};
/* clang-format on */

static void *build_mlp(ms_model *model, const ms_decoder *d, uint32_t parent, uint32_t number)
{
    (void)d, (void)number;
    return ms_sparse_mlp_new(model, parent, MS_ROUTER_FIRST);
}

static ms_tensor mlp(ms_model *model, const ms_decoder_layer *layer, ms_tensor hidden)
{
    static const ms_router_form form = {.floats_logits = true, .normalises = true};
    return ms_sparse_mlp(model, layer->mlp, form, hidden);
}

static bool build(ms_model *model)
{
    return ms_decoder_build(model, (ms_decoder_style){.build_mlp = build_mlp,
                                                      .mlp = mlp,
                                                      .add_loss = ms_router_loss_add,
                                                      .drop = ms_router_logits_drop,
                                                      .position_ids_first = true});
}

static uint8_t layer_kind(const ms_model_config *config, uint64_t layer)
{
    (void)config, (void)layer;
    return MS_LAYER_SLIDES | MS_LAYER_SPARSE;
}

static const ms_model_program program = {build, ms_decoder_forward};

static const ms_family_facts facts = {
    .compared =
        MS_WITH_ZERO3 | MS_WITH_ZERO3_EXPERTS | MS_WITH_ACCELERATE_UNITS | MS_WITH_CHUNKED_LOSS,
    .has_leaf_experts = true,
    .peft = {.lora = {"q_proj", "v_proj"},
             .ia3 = {"k_proj", "v_proj", "w2"},
             .ia3_inputs = {"w2"},
             .exchanged = ms_experts_of_mixtral},
    .liger = {.kernels = MS_LIGER_ALL,
              .norms = MS_LIGER_IS_LAYER | MS_LIGER_IS_LAST,
              .logits_share = 1},
    .llama_cpp = "llama",
    .vllm =
        &(const ms_vllm_arch){.norms = 2, .tie = MS_VLLM_TIE_DROPS, .experts = MS_VLLM_EXPERTS_ALL},
};

const ms_family ms_family_mixtral = {.model_type = "mixtral",
                                     .facts = &facts,
                                     .classes = {{"MixtralForCausalLM", MS_HEAD_CAUSAL_LM}},
                                     .keys = keys,
                                     .key_count = sizeof keys / sizeof *keys,
                                     .check = ms_check_quiet_experts,
                                     .layer_kind = layer_kind,
                                     .takes_cache = true,
                                     .program = &program};
