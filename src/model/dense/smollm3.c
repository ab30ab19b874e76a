/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * SmolLM3: the plain decoder, with some layers without rotary embedding; those may slide.
 */
#include "model/decoder/decoder.h"
#include "model/family/family_list.h"
#include "model/family/family_keys.h"

/* clang-format off */
static const ms_key keys[] = {
    COUNT("vocab_size", vocab_size, 128256, MAX_VOCAB),
    COUNT("hidden_size", hidden_size, 2048, MAX_HIDDEN),
    COUNT("intermediate_size", intermediate_size, 11008, MAX_INTERMEDIATE),
    COUNT("num_hidden_layers", num_layers, 36, MAX_LAYERS),
    COUNT("num_attention_heads", num_heads, 16, MAX_HEADS),
    KV_HEADS_OR(4),
    HEAD_DIM_FROM_HIDDEN,
    COUNT("max_position_embeddings", max_positions, 32768, MAX_POSITIONS),
    ACTIVATION("hidden_act", MS_ACTIVATION_SILU),
    BOOL("tie_word_embeddings", tie_word_embeddings, true),
    BOOL("attention_bias", attention_bias, false),
    BOOL("mlp_bias", mlp_bias, false),
    COUNT("no_rope_layer_interval", no_rotary_interval, 4, MAX_LAYERS),
    { .name = "no_rope_layers", .kind = MS_KEY_ROTARY_LAYERS },
    BOOL("use_sliding_window", use_sliding_window, false),
    NO_SLIDING_WINDOW,
    LAYER_TYPES,
    FRACTION("attention_dropout", attention_dropout, 0),
    PAD_TOKEN_OR(128004),
    DECODER_IGNORED,
};
/* clang-format on */

static uint8_t layer_kind(const ms_model_config *config, uint64_t layer)
{
    return ms_layer_kind(config, layer) & MS_LAYER_NO_ROTARY ? MS_LAYER_SLIDES : 0;
}

static bool build(ms_model *model)
{
    return ms_decoder_build(model, (ms_decoder_style){.qkv_bias = model->config->attention_bias,
                                                      .output_bias = model->config->attention_bias,
                                                      .mlp_bias = model->config->mlp_bias,
                                                      .mask_arguments = true});
}

static const ms_model_program program = {build, ms_decoder_forward};

static const ms_family_facts facts = {
    .blocks = MS_BLOCKS_OF_LLAMA | MS_BLOCK_UNTURNED,
    .compared = MS_WITH_BROADCAST | MS_WITH_CHUNKED_LOSS,
    .liger = {.kernels = MS_LIGER_ALL,
              .norms = MS_LIGER_IS_LAYER | MS_LIGER_IS_LAST,
              .logits_share = 1},
};

const ms_family ms_family_smollm3 = {.model_type = "smollm3",
                                     .facts = &facts,
                                     .classes = {{"SmolLM3ForCausalLM", MS_HEAD_CAUSAL_LM}},
                                     .keys = keys,
                                     .key_count = sizeof keys / sizeof *keys,
                                     .layer_kind = layer_kind,
                                     .takes_cache = true,
                                     .program = &program};
