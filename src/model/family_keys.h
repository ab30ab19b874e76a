/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The keys of each family's config.json with the defaults of its class (transformers 5.23,
 * models/<family>/configuration_<family>.py). An absent key has the class's default: published
 * files leave out what equals it. Each family file includes this and uses its own table.
 */
#ifndef MS_MODEL_FAMILY_KEYS_H
#define MS_MODEL_FAMILY_KEYS_H

#include <inttypes.h>
#include <stdio.h>

#include "config/model_config.h"

/* Bounds that keep every product of three dimensions within 64 bits. */
#define MAX_VOCAB (1u << 24)
#define MAX_HIDDEN (1u << 18)
#define MAX_INTERMEDIATE (1u << 20)
#define MAX_LAYERS 4096
#define MAX_HEADS 4096
#define MAX_HEAD_DIM (1u << 14)
#define MAX_POSITIONS (1u << 24)

#define MEMBER(m) offsetof(ms_model_config, m)

/* A count the file may leave out, and then is `value`. */
#define COUNT(text, member, value, most)                                                           \
    {                                                                                              \
        .name = text, .kind = MS_KEY_COUNT, .offset = MEMBER(member), .default_value = value,      \
        .minimum = 1, .maximum = most                                                              \
    }
/* A count that is `default_` when absent and `null_` when null. */
#define OPTIONAL(text, member, default_, value, null_, null_number, most)                          \
    {                                                                                              \
        .name = text, .kind = MS_KEY_OPTIONAL, .offset = MEMBER(member), .default_kind = default_, \
        .default_value = value, .default_offset = MEMBER(num_heads), .null_kind = null_,           \
        .null_value = null_number, .minimum = 1, .maximum = most                                   \
    }
#define BOOL(text, member, value)                                                                  \
    {                                                                                              \
        .name = text, .kind = MS_KEY_BOOL, .offset = MEMBER(member), .default_value = value        \
    }
#define FRACTION(text, member, value)                                                              \
    {                                                                                              \
        .name = text, .kind = MS_KEY_FRACTION, .offset = MEMBER(member), .default_value = value    \
    }
#define ACTIVATION(text, value)                                                                    \
    {                                                                                              \
        .name = text, .kind = MS_KEY_ACTIVATION, .offset = MEMBER(activation),                     \
        .default_value = value                                                                     \
    }
#define FIXED(text, value)                                                                         \
    {                                                                                              \
        .name = text, .kind = MS_KEY_FIXED_BOOL, .default_value = value                            \
    }
#define IGNORED(text)                                                                              \
    {                                                                                              \
        .name = text, .kind = MS_KEY_IGNORED                                                       \
    }

/* null = no such token; a token id may be 0. */
#define PAD_TOKEN                                                                                  \
    {                                                                                              \
        .name = "pad_token_id", .kind = MS_KEY_OPTIONAL, .offset = MEMBER(pad_token_id),           \
        .default_value = -1, .null_kind = MS_DEFAULT_VALUE, .null_value = UINT64_MAX,              \
        .maximum = MAX_VOCAB                                                                       \
    }
#define KV_HEADS_AS_HEADS                                                                          \
    OPTIONAL("num_key_value_heads", num_kv_heads, MS_DEFAULT_SAME_AS, 0, MS_DEFAULT_SAME_AS, 0,    \
             MAX_HEADS)
#define HEAD_DIM_FROM_HIDDEN                                                                       \
    OPTIONAL("head_dim", head_dim, MS_DEFAULT_HEAD_DIM, 0, MS_DEFAULT_HEAD_DIM, 0, MAX_HEAD_DIM)
#define SLIDING_WINDOW                                                                             \
    OPTIONAL("sliding_window", sliding_window, MS_DEFAULT_VALUE, 4096, MS_DEFAULT_VALUE, 0,        \
             MAX_POSITIONS)

/* Known to every decoder here, and without effect on memory. */
#define DECODER_IGNORED                                                                            \
    IGNORED("initializer_range"), IGNORED("rms_norm_eps"), IGNORED("use_cache"),                   \
        IGNORED("bos_token_id"), IGNORED("eos_token_id"), IGNORED("rope_theta"),                   \
        IGNORED("rope_scaling"), IGNORED("rope_parameters")

/* clang-format off */
#ifdef MS_LLAMA_KEYS
static const ms_key llama_keys[] = {
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
    IGNORED("pretraining_tp"),
    DECODER_IGNORED,
};
#endif

#ifdef MS_MISTRAL_KEYS
static const ms_key mistral_keys[] = {
    COUNT("vocab_size", vocab_size, 32000, MAX_VOCAB),
    COUNT("hidden_size", hidden_size, 4096, MAX_HIDDEN),
    COUNT("intermediate_size", intermediate_size, 14336, MAX_INTERMEDIATE),
    COUNT("num_hidden_layers", num_layers, 32, MAX_LAYERS),
    COUNT("num_attention_heads", num_heads, 32, MAX_HEADS),
    OPTIONAL("num_key_value_heads", num_kv_heads, MS_DEFAULT_VALUE, 8, MS_DEFAULT_SAME_AS, 0, MAX_HEADS),
    HEAD_DIM_FROM_HIDDEN,
    COUNT("max_position_embeddings", max_positions, 131072, MAX_POSITIONS),
    ACTIVATION("hidden_act", MS_ACTIVATION_SILU),
    BOOL("tie_word_embeddings", tie_word_embeddings, false),
    SLIDING_WINDOW,
    FRACTION("attention_dropout", attention_dropout, 0),
    PAD_TOKEN,
    DECODER_IGNORED,
};
#endif

#ifdef MS_QWEN2_KEYS
static const ms_key qwen2_keys[] = {
    COUNT("vocab_size", vocab_size, 151936, MAX_VOCAB),
    COUNT("hidden_size", hidden_size, 4096, MAX_HIDDEN),
    COUNT("intermediate_size", intermediate_size, 22016, MAX_INTERMEDIATE),
    COUNT("num_hidden_layers", num_layers, 32, MAX_LAYERS),
    COUNT("num_attention_heads", num_heads, 32, MAX_HEADS),
    OPTIONAL("num_key_value_heads", num_kv_heads, MS_DEFAULT_VALUE, 32, MS_DEFAULT_SAME_AS, 0, MAX_HEADS),
    HEAD_DIM_FROM_HIDDEN,
    COUNT("max_position_embeddings", max_positions, 32768, MAX_POSITIONS),
    ACTIVATION("hidden_act", MS_ACTIVATION_SILU),
    BOOL("tie_word_embeddings", tie_word_embeddings, false),
    BOOL("use_sliding_window", use_sliding_window, false),
    SLIDING_WINDOW,
    { .name = "max_window_layers", .kind = MS_KEY_COUNT, .offset = MEMBER(sliding_layers_from),
      .default_value = 28, .maximum = MAX_POSITIONS },
    { .name = "layer_types", .kind = MS_KEY_LAYER_TYPES, .offset = MEMBER(sliding_layers_from) },
    FRACTION("attention_dropout", attention_dropout, 0),
    PAD_TOKEN,
    DECODER_IGNORED,
};
#endif

#ifdef MS_QWEN3_KEYS
static const ms_key qwen3_keys[] = {
    COUNT("vocab_size", vocab_size, 151936, MAX_VOCAB),
    COUNT("hidden_size", hidden_size, 4096, MAX_HIDDEN),
    COUNT("intermediate_size", intermediate_size, 22016, MAX_INTERMEDIATE),
    COUNT("num_hidden_layers", num_layers, 32, MAX_LAYERS),
    COUNT("num_attention_heads", num_heads, 32, MAX_HEADS),
    OPTIONAL("num_key_value_heads", num_kv_heads, MS_DEFAULT_VALUE, 32, MS_DEFAULT_SAME_AS, 0, MAX_HEADS),
    COUNT("head_dim", head_dim, 128, MAX_HEAD_DIM),
    COUNT("max_position_embeddings", max_positions, 32768, MAX_POSITIONS),
    ACTIVATION("hidden_act", MS_ACTIVATION_SILU),
    BOOL("tie_word_embeddings", tie_word_embeddings, false),
    BOOL("attention_bias", attention_bias, false),
    BOOL("use_sliding_window", use_sliding_window, false),
    SLIDING_WINDOW,
    { .name = "max_window_layers", .kind = MS_KEY_COUNT, .offset = MEMBER(sliding_layers_from),
      .default_value = 28, .maximum = MAX_POSITIONS },
    { .name = "layer_types", .kind = MS_KEY_LAYER_TYPES, .offset = MEMBER(sliding_layers_from) },
    FRACTION("attention_dropout", attention_dropout, 0),
    PAD_TOKEN,
    DECODER_IGNORED,
};
#endif

#ifdef MS_GPT2_KEYS
static const ms_key gpt2_keys[] = {
    COUNT("vocab_size", vocab_size, 50257, MAX_VOCAB),
    { .name = "n_embd", .aliases = { "hidden_size" }, .kind = MS_KEY_COUNT,
      .offset = MEMBER(hidden_size), .default_value = 768, .minimum = 1, .maximum = MAX_HIDDEN },
    { .name = "n_layer", .aliases = { "num_hidden_layers" }, .kind = MS_KEY_COUNT,
      .offset = MEMBER(num_layers), .default_value = 12, .minimum = 1, .maximum = MAX_LAYERS },
    { .name = "n_head", .aliases = { "num_attention_heads" }, .kind = MS_KEY_COUNT,
      .offset = MEMBER(num_heads), .default_value = 12, .minimum = 1, .maximum = MAX_HEADS },
    { .name = "n_positions", .aliases = { "max_position_embeddings" }, .kind = MS_KEY_COUNT,
      .offset = MEMBER(max_positions), .default_value = 1024, .minimum = 1, .maximum = MAX_POSITIONS,
      .learned = true },
    OPTIONAL("n_inner", intermediate_size, MS_DEFAULT_FOUR_HIDDEN, 0, MS_DEFAULT_FOUR_HIDDEN, 0, MAX_INTERMEDIATE),
    ACTIVATION("activation_function", MS_ACTIVATION_GELU_NEW),
    FRACTION("resid_pdrop", residual_dropout, 0.1),
    FRACTION("embd_pdrop", embedding_dropout, 0.1),
    FRACTION("attn_pdrop", attention_dropout, 0.1),
    BOOL("tie_word_embeddings", tie_word_embeddings, true),
    BOOL("scale_attn_weights", scale_attn_weights, true),
    PAD_TOKEN,
    FIXED("scale_attn_by_inverse_layer_idx", false),
    FIXED("reorder_and_upcast_attn", false),
    FIXED("add_cross_attention", false),
    IGNORED("n_ctx"),
    IGNORED("layer_norm_epsilon"),
    IGNORED("initializer_range"),
    IGNORED("summary_type"),
    IGNORED("summary_use_proj"),
    IGNORED("summary_activation"),
    IGNORED("summary_proj_to_labels"),
    IGNORED("summary_first_dropout"),
    IGNORED("use_cache"),
    IGNORED("bos_token_id"),
    IGNORED("eos_token_id"),
};
#endif
/* clang-format on */

/* A rule for families whose class refuses heads that do not divide the width, whatever head_dim
 * says (llama, gpt2). The others only need it to derive head_dim. */
#if defined(MS_LLAMA_KEYS) || defined(MS_GPT2_KEYS)
static ms_status check_heads_divide(const ms_model_config *config, ms_error *err)
{
    if (config->hidden_size % config->num_heads == 0)
        return MS_OK;
    snprintf(err->pointer, sizeof err->pointer, "/num_attention_heads");
    return ms_fail(err, MS_ERR_CONFIG, "%" PRIu64 " does not divide hidden_size %" PRIu64,
                   config->num_heads, config->hidden_size);
}
#endif

#endif
