/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Granite: embedding, residual branches and logits are scaled by numbers.
 */
#include "model/decoder.h"
#include "model/families.h"
#include "model/family_keys.h"
#include "ops/ops.h"

/* clang-format off */
static const ms_key keys[] = {
    COUNT("vocab_size", vocab_size, 32000, MAX_VOCAB),
    COUNT("hidden_size", hidden_size, 4096, MAX_HIDDEN),
    COUNT("intermediate_size", intermediate_size, 11008, MAX_INTERMEDIATE),
    COUNT("num_hidden_layers", num_layers, 32, MAX_LAYERS),
    COUNT("num_attention_heads", num_heads, 32, MAX_HEADS),
    KV_HEADS_AS_HEADS,
    HEAD_DIM_FROM_HIDDEN,
    COUNT("max_position_embeddings", max_positions, 2048, MAX_POSITIONS),
    ACTIVATION("hidden_act", MS_ACTIVATION_SILU),
    BOOL("tie_word_embeddings", tie_word_embeddings, false),
    BOOL("attention_bias", attention_bias, false),
    BOOL("mlp_bias", mlp_bias, false),
    FRACTION("attention_dropout", attention_dropout, 0),
    PAD_TOKEN,
    IGNORED("embedding_multiplier"), /* a factor of 1 is applied too */
    IGNORED("logits_scaling"),
    IGNORED("residual_multiplier"),
    IGNORED("attention_multiplier"),
    DECODER_IGNORED,
};
/* clang-format on */

static bool build(ms_model *model)
{
    model->scale_logits = ms_div_scalar;
    return ms_decoder_build(model, (ms_decoder_style){.qkv_bias = model->config->attention_bias,
                                                      .output_bias = model->config->attention_bias,
                                                      .mlp_bias = model->config->mlp_bias,
                                                      .multiplied_embedding = true,
                                                      .multiplied_residual = true,
                                                      .position_ids_first = true});
}

static const ms_model_program program = {build, ms_decoder_forward};

const ms_family ms_family_granite = {.model_type = "granite",
                                     .classes = {{"GraniteForCausalLM", MS_HEAD_CAUSAL_LM}},
                                     .keys = keys,
                                     .key_count = sizeof keys / sizeof *keys,
                                     .scales_logits = true,
                                     .program = &program};
