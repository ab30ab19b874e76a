/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Arcee's AFM: Llama with an ungated MLP and squared ReLU.
 */
#include "model/decoder/decoder.h"
#include "model/decoder/decoder_mlp.h"
#include "model/family/family_list.h"
#include "model/family/family_keys.h"

/* clang-format off */
static const ms_key keys[] = {
    COUNT("vocab_size", vocab_size, 32000, MAX_VOCAB),
    COUNT("hidden_size", hidden_size, 2560, MAX_HIDDEN),
    COUNT("intermediate_size", intermediate_size, 18432, MAX_INTERMEDIATE),
    COUNT("num_hidden_layers", num_layers, 32, MAX_LAYERS),
    COUNT("num_attention_heads", num_heads, 32, MAX_HEADS),
    KV_HEADS_AS_HEADS,
    HEAD_DIM_FROM_HIDDEN,
    COUNT("max_position_embeddings", max_positions, 4096, MAX_POSITIONS),
    ACTIVATION("hidden_act", MS_ACTIVATION_RELU2),
    BOOL("tie_word_embeddings", tie_word_embeddings, false),
    BOOL("attention_bias", attention_bias, false),
    BOOL("mlp_bias", mlp_bias, false),
    FRACTION("attention_dropout", attention_dropout, 0),
    PAD_TOKEN,
    DECODER_IGNORED,
};
/* clang-format on */

static void *build_mlp(ms_model *model, const ms_decoder *d, uint32_t parent, uint32_t number)
{
    (void)number;
    return ms_plain_mlp_new(model, parent, "up_proj", "down_proj", d->style.mlp_bias);
}

static bool build(ms_model *model)
{
    const ms_model_config *c = model->config;
    return ms_decoder_build(model, (ms_decoder_style){.build_mlp = build_mlp,
                                                      .mlp = ms_plain_mlp,
                                                      .qkv_bias = c->attention_bias,
                                                      .output_bias = c->attention_bias,
                                                      .mlp_bias = c->mlp_bias});
}

static const ms_model_program program = {build, ms_decoder_forward};

static const ms_family_facts facts = {
    .blocks = MS_BLOCK_PROJECTIONS | MS_BLOCK_TWO_NORMS | MS_BLOCK_PLAIN_MLP,
    .compared = MS_WITH_CHUNKED_LOSS,

};

const ms_family ms_family_arcee = {
    .model_type = "arcee",
    .facts = &facts,
    .classes = {{"ArceeForCausalLM", MS_HEAD_CAUSAL_LM},
                {"ArceeForSequenceClassification", MS_HEAD_LAST_TOKEN}},
    .keys = keys,
    .key_count = sizeof keys / sizeof *keys,
    .check = ms_check_heads_divide,
    .takes_cache = true,
    .program = &program};
