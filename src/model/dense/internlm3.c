/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * InternLM 3: transformers runs it by Llama's classes, with other names of the biases.
 */
#include "model/decoder/decoder.h"
#include "model/family/family_list.h"
#include "model/family/family_keys.h"

/* clang-format off */
static const ms_key keys[] = {
    COUNT("vocab_size", vocab_size, 128512, MAX_VOCAB),
    COUNT("hidden_size", hidden_size, 4096, MAX_HIDDEN),
    COUNT("intermediate_size", intermediate_size, 10240, MAX_INTERMEDIATE),
    COUNT("num_hidden_layers", num_layers, 48, MAX_LAYERS),
    COUNT("num_attention_heads", num_heads, 32, MAX_HEADS),
    KV_HEADS_OR(2),
    HEAD_DIM_OR(128),
    COUNT("max_position_embeddings", max_positions, 32768, MAX_POSITIONS),
    ACTIVATION("hidden_act", MS_ACTIVATION_SILU),
    BOOL("tie_word_embeddings", tie_word_embeddings, false),
    { .name = "attention_bias", .aliases = {"qkv_bias"}, .kind = MS_KEY_BOOL,
      .offset = MEMBER(attention_bias) },
    { .name = "mlp_bias", .aliases = {"bias"}, .kind = MS_KEY_BOOL, .offset = MEMBER(mlp_bias) },
    FRACTION("attention_dropout", attention_dropout, 0),
    PAD_TOKEN_OR(2),
    DECODER_IGNORED,
};
/* clang-format on */

static bool build(ms_model *model)
{
    return ms_decoder_build(model, (ms_decoder_style){.qkv_bias = model->config->attention_bias,
                                                      .output_bias = model->config->attention_bias,
                                                      .mlp_bias = model->config->mlp_bias});
}

static const ms_model_program program = {build, ms_decoder_forward};

static const ms_family_facts facts = {
    .blocks = MS_BLOCKS_OF_LLAMA,
};

const ms_family ms_family_internlm3 = {.model_type = "internlm3",
                                       .facts = &facts,
                                       .classes = {{"InternLM3ForCausalLM", MS_HEAD_CAUSAL_LM},
                                                   {"LlamaForCausalLM", MS_HEAD_CAUSAL_LM}},
                                       .keys = keys,
                                       .key_count = sizeof keys / sizeof *keys,
                                       .takes_cache = true,
                                       .program = &program};
