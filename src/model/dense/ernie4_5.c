/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * ERNIE 4.5: the plain decoder, with heads rotated by neighbouring elements in fp32.
 */
#include "model/decoder/decoder.h"
#include "model/family/family_list.h"
#include "model/family/family_keys.h"

/* clang-format off */
static const ms_key keys[] = {
    COUNT("vocab_size", vocab_size, 103424, MAX_VOCAB),
    COUNT("hidden_size", hidden_size, 1024, MAX_HIDDEN),
    COUNT("intermediate_size", intermediate_size, 3072, MAX_INTERMEDIATE),
    COUNT("num_hidden_layers", num_layers, 18, MAX_LAYERS),
    COUNT("num_attention_heads", num_heads, 16, MAX_HEADS),
    KV_HEADS_OR(2),
    HEAD_DIM_OR(128),
    COUNT("max_position_embeddings", max_positions, 131072, MAX_POSITIONS),
    ACTIVATION("hidden_act", MS_ACTIVATION_SILU),
    BOOL("tie_word_embeddings", tie_word_embeddings, true),
    BOOL("use_bias", mlp_bias, false),
    PAD_TOKEN_OR(0),
    DECODER_IGNORED,
};
/* clang-format on */

static bool build(ms_model *model)
{
    bool bias = model->config->mlp_bias;
    return ms_decoder_build(model, (ms_decoder_style){.rotary = ms_rotary_repeated_pairs_fp32,
                                                      .fp32_rotary = true,
                                                      .qkv_bias = bias,
                                                      .output_bias = bias,
                                                      .mlp_bias = bias});
}

static const ms_model_program program = {build, ms_decoder_forward};

static const ms_family_facts facts = {
    .blocks = MS_BLOCKS_OF_LLAMA | MS_BLOCK_OTHER_ROTARY,
    .compared = MS_WITH_CHUNKED_LOSS,
    .casts_arguments = true,
};

const ms_family ms_family_ernie4_5 = {.model_type = "ernie4_5",
                                      .facts = &facts,
                                      .classes = {{"Ernie4_5ForCausalLM", MS_HEAD_CAUSAL_LM}},
                                      .keys = keys,
                                      .key_count = sizeof keys / sizeof *keys,
                                      .takes_cache = true,
                                      .program = &program};
