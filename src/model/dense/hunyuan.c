/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Hunyuan, dense: each head's query and key is normalised after the rotary embedding.
 */
#include "model/decoder/decoder.h"
#include "model/family/family_list.h"
#include "model/family/family_keys.h"

/* clang-format off */
static const ms_key keys[] = {
    COUNT("vocab_size", vocab_size, 290943, MAX_VOCAB),
    COUNT("hidden_size", hidden_size, 4096, MAX_HIDDEN),
    COUNT("intermediate_size", intermediate_size, 11008, MAX_INTERMEDIATE),
    COUNT("num_hidden_layers", num_layers, 32, MAX_LAYERS),
    COUNT("num_attention_heads", num_heads, 32, MAX_HEADS),
    KV_HEADS_AS_HEADS,
    { .name = "head_dim", .kind = MS_KEY_COUNT, .offset = MEMBER(head_dim), .minimum = 1,
      .maximum = MAX_HEAD_DIM, .required = true },
    COUNT("max_position_embeddings", max_positions, 2048, MAX_POSITIONS),
    ACTIVATION("hidden_act", MS_ACTIVATION_SILU),
    BOOL("tie_word_embeddings", tie_word_embeddings, false),
    BOOL("attention_bias", attention_bias, false),
    FRACTION("attention_dropout", attention_dropout, 0),
    PAD_TOKEN_OR(0),
    IGNORED("pretraining_tp"), IGNORED("eod_token_id"),
    DECODER_IGNORED,
};
/* clang-format on */

static bool build(ms_model *model)
{
    return ms_decoder_build(model, (ms_decoder_style){.qkv_bias = model->config->attention_bias,
                                                      .output_bias = model->config->attention_bias,
                                                      .head_norms = MS_HEAD_NORMS_TURNED,
                                                      .query_norm_name = "query_layernorm",
                                                      .key_norm_name = "key_layernorm"});
}

static const ms_model_program program = {build, ms_decoder_forward};

static const ms_family_facts facts = {
    .blocks = MS_BLOCKS_OF_LLAMA | MS_BLOCK_TURNED_NORMS,
    .compared = MS_WITH_CHUNKED_LOSS,
    .liger = {.kernels = MS_LIGER_ALL,
              .norms = MS_LIGER_IS_LAYER | MS_LIGER_IS_LAST,
              .logits_share = 1},
};

const ms_family ms_family_hunyuan_v1_dense = {
    .model_type = "hunyuan_v1_dense",
    .facts = &facts,
    .classes = {{"HunYuanDenseV1ForCausalLM", MS_HEAD_CAUSAL_LM},
                {"HunYuanDenseV1ForSequenceClassification", MS_HEAD_LAST_TOKEN}},
    .keys = keys,
    .key_count = sizeof keys / sizeof *keys,
    .takes_cache = true,
    .program = &program};
