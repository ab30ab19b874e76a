/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Rows of keys that the configs of BERT and its kin have alike.
 */
#ifndef MS_MODEL_ENCODER_BERT_KEYS_H
#define MS_MODEL_ENCODER_BERT_KEYS_H

#include "model/family/family_keys.h"

/* clang-format off */
#define BERT_SIZES(vocab, hidden, heads, intermediate)                                             \
    COUNT("vocab_size", vocab_size, vocab, MAX_VOCAB),                                             \
    COUNT("hidden_size", hidden_size, hidden, MAX_HIDDEN),                                         \
    COUNT("num_hidden_layers", num_layers, 12, MAX_LAYERS),                                        \
    COUNT("num_attention_heads", num_heads, heads, MAX_HEADS),                                     \
    COUNT("intermediate_size", intermediate_size, intermediate, MAX_INTERMEDIATE)

#define BERT_KEYS                                                                                  \
    COUNT("type_vocab_size", sentence_types, 2, MAX_VOCAB),                                        \
    { .name = "max_position_embeddings", .kind = MS_KEY_COUNT, .offset = MEMBER(max_positions),    \
      .default_value = 512, .minimum = 1, .maximum = MAX_POSITIONS, .learned = true },             \
    ACTIVATION("hidden_act", MS_ACTIVATION_GELU),                                                  \
    FRACTION("hidden_dropout_prob", residual_dropout, 0.1),                                        \
    FRACTION("attention_probs_dropout_prob", attention_dropout, 0.1),                              \
    { .name = "classifier_dropout", .kind = MS_KEY_FRACTION, .offset = MEMBER(classifier_dropout), \
      .default_kind = MS_DEFAULT_SAME_AS, .null_kind = MS_DEFAULT_SAME_AS,                         \
      .default_offset = MEMBER(residual_dropout) },                                                \
    BOOL("tie_word_embeddings", tie_word_embeddings, true),                                        \
    FIXED("is_decoder", false),                                                                    \
    FIXED("add_cross_attention", false),                                                           \
    IGNORED("bos_token_id"),                                                                       \
    IGNORED("eos_token_id"),                                                                       \
    IGNORED("initializer_range"),                                                                  \
    IGNORED("layer_norm_eps"),                                                                     \
    IGNORED("use_cache"),                                                                          \
    IGNORED("position_embedding_type")
/* clang-format on */

#endif
