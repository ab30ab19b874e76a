/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Gemma: the plain decoder with a scaled embedding and norms with 1 + weight, both computed in
 * fp32.
 */
#include "model/dense/gemma.h"

#include "model/family/family_list.h"
#include "model/family/family_keys.h"

/* clang-format off */
static const ms_key keys[] = {
    COUNT("vocab_size", vocab_size, 256000, MAX_VOCAB),
    COUNT("hidden_size", hidden_size, 3072, MAX_HIDDEN),
    COUNT("intermediate_size", intermediate_size, 24576, MAX_INTERMEDIATE),
    COUNT("num_hidden_layers", num_layers, 28, MAX_LAYERS),
    COUNT("num_attention_heads", num_heads, 16, MAX_HEADS),
    COUNT("num_key_value_heads", num_kv_heads, 16, MAX_HEADS),
    COUNT("head_dim", head_dim, 256, MAX_HEAD_DIM),
    COUNT("max_position_embeddings", max_positions, 8192, MAX_POSITIONS),
    ACTIVATION("hidden_act", MS_ACTIVATION_GELU_TANH),
    BOOL("tie_word_embeddings", tie_word_embeddings, true),
    BOOL("attention_bias", attention_bias, false),
    FRACTION("attention_dropout", attention_dropout, 0),
    FIXED("use_bidirectional_attention", false),
    PAD_TOKEN,
    IGNORED("hidden_activation"), /* files have both spellings; the class reads the other */
    DECODER_IGNORED,
};
/* clang-format on */

ms_decoder_style ms_gemma_style(const ms_model_config *config)
{
    return (ms_decoder_style){.norm = ms_centered_rms_norm_call,
                              .qkv_bias = config->attention_bias,
                              .output_bias = config->attention_bias,
                              .scaled_embedding = true};
}

static bool build(ms_model *model)
{
    return ms_decoder_build(model, ms_gemma_style(model->config));
}

static const ms_model_program program = {build, ms_decoder_forward};

static const ms_family_facts facts = {
    .blocks = MS_BLOCKS_OF_LLAMA | MS_BLOCK_FACTORS,
    .compared = MS_WITH_BROADCAST | MS_WITH_CHUNKED_LOSS,
    .peft = {.lora = {"q_proj", "v_proj"},
             .ia3 = {"q_proj", "v_proj", "down_proj"},
             .ia3_inputs = {"down_proj"}},
    .liger = {.kernels = MS_LIGER_ALL,
              .norms = MS_LIGER_IS_LAYER | MS_LIGER_IS_LAST,
              .logits_share = 1},
};

const ms_family ms_family_gemma = {.model_type = "gemma",
                                   .facts = &facts,
                                   .classes = {{"GemmaForCausalLM", MS_HEAD_CAUSAL_LM}},
                                   .keys = keys,
                                   .key_count = sizeof keys / sizeof *keys,
                                   .takes_cache = true,
                                   .program = &program};
