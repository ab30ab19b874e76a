/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * GLM: gate and up in one product, half of each head turned by pairs, two norms a layer.
 */
#include "model/decoder.h"
#include "model/families.h"
#include "model/family_keys.h"

/* clang-format off */
static const ms_key keys[] = {
    COUNT("vocab_size", vocab_size, 151552, MAX_VOCAB),
    COUNT("hidden_size", hidden_size, 4096, MAX_HIDDEN),
    COUNT("intermediate_size", intermediate_size, 13696, MAX_INTERMEDIATE),
    COUNT("num_hidden_layers", num_layers, 40, MAX_LAYERS),
    COUNT("num_attention_heads", num_heads, 32, MAX_HEADS),
    COUNT("num_key_value_heads", num_kv_heads, 2, MAX_HEADS),
    COUNT("head_dim", head_dim, 128, MAX_HEAD_DIM),
    COUNT("max_position_embeddings", max_positions, 131072, MAX_POSITIONS),
    ROTARY_SHARE("partial_rotary_factor", 0.5),
    ACTIVATION("hidden_act", MS_ACTIVATION_SILU),
    BOOL("tie_word_embeddings", tie_word_embeddings, false),
    BOOL("attention_bias", attention_bias, true),
    FRACTION("attention_dropout", attention_dropout, 0),
    PAD_TOKEN_OR(151329),
    DECODER_IGNORED,
};
/* clang-format on */

static bool build(ms_model *model)
{
    return ms_decoder_build(model, (ms_decoder_style){.rotary = ms_rotary_pairs,
                                                      .build_mlp = ms_fused_mlp_new,
                                                      .mlp = ms_fused_mlp,
                                                      .qkv_bias = model->config->attention_bias});
}

static const ms_model_program program = {build, ms_decoder_forward};

const ms_family ms_family_glm = {.model_type = "glm",
                                 .classes = {{"GlmForCausalLM", MS_HEAD_CAUSAL_LM}},
                                 .keys = keys,
                                 .key_count = sizeof keys / sizeof *keys,
                                 .program = &program};
