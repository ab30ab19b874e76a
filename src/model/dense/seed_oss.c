/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Seed-OSS: the plain decoder; attention and MLP end with dropout, head_dim is independent of the
 * width.
 */
#include "model/decoder/decoder.h"
#include "model/family/family_list.h"
#include "model/family/family_keys.h"

/* clang-format off */
static const ms_key keys[] = {
    COUNT("vocab_size", vocab_size, 155136, MAX_VOCAB),
    COUNT("hidden_size", hidden_size, 4096, MAX_HIDDEN),
    COUNT("intermediate_size", intermediate_size, 27648, MAX_INTERMEDIATE),
    COUNT("num_hidden_layers", num_layers, 64, MAX_LAYERS),
    COUNT("num_attention_heads", num_heads, 80, MAX_HEADS),
    KV_HEADS_OR(8),
    HEAD_DIM_OR(128),
    COUNT("max_position_embeddings", max_positions, 524288, MAX_POSITIONS),
    ACTIVATION("hidden_act", MS_ACTIVATION_SILU),
    BOOL("tie_word_embeddings", tie_word_embeddings, false),
    BOOL("attention_bias", attention_bias, true),
    BOOL("attention_out_bias", output_bias, false),
    BOOL("mlp_bias", mlp_bias, false),
    FRACTION("attention_dropout", attention_dropout, 0.1),
    FRACTION("residual_dropout", residual_dropout, 0.1),
    PAD_TOKEN_OR(1),
    IGNORED("pretraining_tp"),
    DECODER_IGNORED,
};
/* clang-format on */

static bool build(ms_model *model)
{
    return ms_decoder_build(model, (ms_decoder_style){.qkv_bias = model->config->attention_bias,
                                                      .output_bias = model->config->output_bias,
                                                      .mlp_bias = model->config->mlp_bias,
                                                      .inner_dropout = true});
}

static const ms_model_program program = {build, ms_decoder_forward};

static const ms_family_facts facts = {
    .blocks = MS_BLOCKS_OF_LLAMA,
    .compared = MS_WITH_CHUNKED_LOSS,

};

const ms_family ms_family_seed_oss = {.model_type = "seed_oss",
                                      .facts = &facts,
                                      .classes = {{"SeedOssForCausalLM", MS_HEAD_CAUSAL_LM}},
                                      .keys = keys,
                                      .key_count = sizeof keys / sizeof *keys,
                                      .takes_cache = true,
                                      .program = &program};
