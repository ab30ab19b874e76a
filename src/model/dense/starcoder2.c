/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * StarCoder2: layer norms, an ungated MLP, dropout at the end of attention and MLP.
 */
#include "model/decoder/decoder.h"
#include "model/decoder/decoder_mlp.h"
#include "model/family/family_list.h"
#include "model/family/family_keys.h"

/* clang-format off */
static const ms_key keys[] = {
    COUNT("vocab_size", vocab_size, 49152, MAX_VOCAB),
    COUNT("hidden_size", hidden_size, 3072, MAX_HIDDEN),
    COUNT("intermediate_size", intermediate_size, 12288, MAX_INTERMEDIATE),
    COUNT("num_hidden_layers", num_layers, 30, MAX_LAYERS),
    COUNT("num_attention_heads", num_heads, 24, MAX_HEADS),
    COUNT("num_key_value_heads", num_kv_heads, 2, MAX_HEADS),
    HEAD_DIM_FROM_HIDDEN,
    COUNT("max_position_embeddings", max_positions, 4096, MAX_POSITIONS),
    ACTIVATION("hidden_act", MS_ACTIVATION_GELU_TANH),
    BOOL("tie_word_embeddings", tie_word_embeddings, true),
    BOOL("use_bias", mlp_bias, true),
    NO_SLIDING_WINDOW,
    FRACTION("attention_dropout", attention_dropout, 0),
    FRACTION("residual_dropout", residual_dropout, 0),
    FRACTION("embedding_dropout", embedding_dropout, 0),
    PAD_TOKEN,
    IGNORED("norm_epsilon"),
    DECODER_IGNORED,
};
/* clang-format on */

static void *build_mlp(ms_model *model, const ms_decoder *d, uint32_t parent, uint32_t number)
{
    (void)number;
    return ms_plain_mlp_new(model, parent, "c_fc", "c_proj", d->style.mlp_bias);
}

static bool build(ms_model *model)
{
    bool bias = model->config->mlp_bias;
    return ms_decoder_build(
        model, (ms_decoder_style){.build_mlp = build_mlp,
                                  .mlp = ms_plain_mlp,
                                  .norm = ms_layer_norm_call,
                                  .norm_bias = true,
                                  .qkv_bias = bias,
                                  .output_bias = bias,
                                  .mlp_bias = bias,
                                  .inner_dropout = true,
                                  .embedding_dropout = model->config->embedding_dropout,
                                  .position_ids_first = true});
}

static const ms_model_program program = {build, ms_decoder_forward};

static const ms_family_facts facts = {
    .blocks = MS_BLOCK_PROJECTIONS | MS_BLOCK_LAYER_NORMS | MS_BLOCK_PLAIN_MLP,
    .compared = MS_WITH_BROADCAST | MS_WITH_CHUNKED_LOSS,
    .awq_differs = true,
};

const ms_family ms_family_starcoder2 = {.model_type = "starcoder2",
                                        .facts = &facts,
                                        .classes = {{"Starcoder2ForCausalLM", MS_HEAD_CAUSAL_LM}},
                                        .keys = keys,
                                        .key_count = sizeof keys / sizeof *keys,
                                        .takes_cache = true,
                                        .program = &program};
