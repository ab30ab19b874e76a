/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Gemma 2: four norms in a layer, every other layer slides, scores of attention and logits are
 * capped. Because of the cap the framework has only eager attention.
 */
#include "model/family/family_list.h"
#include "model/family/family_keys.h"
#include "model/dense/gemma.h"
#include "torch/ops/ops.h"

/* clang-format off */
static const ms_key keys[] = {
    COUNT("vocab_size", vocab_size, 256000, MAX_VOCAB),
    COUNT("hidden_size", hidden_size, 2304, MAX_HIDDEN),
    COUNT("intermediate_size", intermediate_size, 9216, MAX_INTERMEDIATE),
    COUNT("num_hidden_layers", num_layers, 26, MAX_LAYERS),
    COUNT("num_attention_heads", num_heads, 8, MAX_HEADS),
    COUNT("num_key_value_heads", num_kv_heads, 4, MAX_HEADS),
    COUNT("head_dim", head_dim, 256, MAX_HEAD_DIM),
    COUNT("max_position_embeddings", max_positions, 8192, MAX_POSITIONS),
    ACTIVATION("hidden_activation", MS_ACTIVATION_GELU_TANH),
    BOOL("tie_word_embeddings", tie_word_embeddings, true),
    BOOL("attention_bias", attention_bias, false),
    COUNT("sliding_window", sliding_window, 4096, MAX_POSITIONS),
    LAYER_TYPES,
    FRACTION("attention_dropout", attention_dropout, 0),
    IS_SET("attn_logit_softcapping", caps_scores, true),
    IS_SET("final_logit_softcapping", caps_logits, true),
    FIXED("use_bidirectional_attention", false),
    PAD_TOKEN,
    IGNORED("query_pre_attn_scalar"),
    IGNORED("hidden_act"), /* files have both spellings; the class reads the other */
    DECODER_IGNORED,
};
/* clang-format on */

ms_decoder_style ms_gemma2_style(const ms_model_config *config)
{
    ms_decoder_style style = ms_gemma_style(config);
    style.norms[0] = (ms_norm_row){"input_layernorm", MS_NORM_BEFORE_ATTENTION};
    style.norms[1] = (ms_norm_row){"post_attention_layernorm", MS_NORM_AFTER_ATTENTION};
    style.norms[2] = (ms_norm_row){"pre_feedforward_layernorm", MS_NORM_BEFORE_MLP};
    style.norms[3] = (ms_norm_row){"post_feedforward_layernorm", MS_NORM_AFTER_MLP};
    style.mask_arguments = style.both_masks = true;
    return style;
}

static uint8_t layer_kind(const ms_model_config *config, uint64_t layer)
{
    (void)config;
    return layer % 2 == 0 ? MS_LAYER_SLIDES : 0;
}

static bool build(ms_model *model)
{
    return ms_decoder_build(model, ms_gemma2_style(model->config));
}

static const ms_model_program program = {build, ms_decoder_forward};

static const ms_family_facts facts = {
    .compared = MS_WITH_ZERO3 | MS_WITH_ACCELERATE_UNITS | MS_WITH_BROADCAST | MS_WITH_CHUNKED_LOSS,
    .peft = {.lora = {"q_proj", "v_proj"},
             .ia3 = {"q_proj", "v_proj", "down_proj"},
             .ia3_inputs = {"down_proj"}},
    .liger = {.kernels = MS_LIGER_ALL,
              .norms = MS_LIGER_IS_LAYER | MS_LIGER_IS_LAST,
              .copying_norms = MS_LIGER_IS_LAYER | MS_LIGER_IS_LAST,
              .logits_share = 1},
    .llama_cpp = "gemma2",
    .vllm = &(const ms_vllm_arch){.qkv_bias = MS_VLLM_BIAS_ASKED,
                                  .out_bias = MS_VLLM_BIAS_ASKED,
                                  .norms = 4,
                                  .mlp_rows = 5,
                                  .has_normalizer = true,
                                  .always_ties = true},
};

const ms_family ms_family_gemma2 = {.model_type = "gemma2",
                                    .facts = &facts,
                                    .classes = {{"Gemma2ForCausalLM", MS_HEAD_CAUSAL_LM}},
                                    .keys = keys,
                                    .key_count = sizeof keys / sizeof *keys,
                                    .check = ms_check_heads_divide,
                                    .layer_kind = layer_kind,
                                    .eager_only = true,
                                    .takes_cache = true,
                                    .program = &program};
