/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Macros for the tables of config.json's keys at the top of each family's file. Defaults are those
 * of the family's class (transformers 5.23, models/<family>/configuration_<family>.py): published
 * files omit keys that equal the class's default.
 */
#ifndef MS_MODEL_FAMILY_FAMILY_KEYS_H
#define MS_MODEL_FAMILY_FAMILY_KEYS_H

#include <inttypes.h>
#include <stdio.h>

#include "input/config/model/model_config.h"

/* Bounds that keep every product of three dimensions within 64 bits. */
#define MAX_VOCAB (1u << 24)
#define MAX_HIDDEN (1u << 18)
#define MAX_INTERMEDIATE (1u << 20)
#define MAX_LAYERS 4096
#define MAX_HEADS 4096
#define MAX_HEAD_DIM (1u << 14)
#define MAX_POSITIONS (1u << 24)
#define MAX_EXPERTS 4096

#define MEMBER(m) offsetof(ms_model_config, m)

/* A count; `value` when absent. */
#define COUNT(text, member, value, most)                                                           \
    {                                                                                              \
        .name = text, .kind = MS_KEY_COUNT, .offset = MEMBER(member), .default_value = value,      \
        .minimum = 1, .maximum = most                                                              \
    }
/* The same with another spelling. */
#define COUNT_AS(text, other, member, value, most)                                                 \
    {                                                                                              \
        .name = text, .aliases = {other}, .kind = MS_KEY_COUNT, .offset = MEMBER(member),          \
        .default_value = value, .minimum = 1, .maximum = most                                      \
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
#define IS_SET(text, member, value)                                                                \
    {                                                                                              \
        .name = text, .kind = MS_KEY_IS_SET, .offset = MEMBER(member), .default_value = value      \
    }
/* One of two names; the first is the default. */
#define CHOICE(text, member, first, second)                                                        \
    {                                                                                              \
        .name = text, .kind = MS_KEY_CHOICE, .offset = MEMBER(member), .choices = {                \
            first,                                                                                 \
            second                                                                                 \
        }                                                                                          \
    }
#define FIXED(text, value)                                                                         \
    {                                                                                              \
        .name = text, .kind = MS_KEY_FIXED_BOOL, .default_value = value                            \
    }
#define IGNORED(text)                                                                              \
    {                                                                                              \
        .name = text, .kind = MS_KEY_IGNORED                                                       \
    }

#define ROPE(text)                                                                                 \
    {                                                                                              \
        .name = text, .kind = MS_KEY_ROPE                                                          \
    }

/* null = no padding token; a token id may be 0. */
#define PAD_TOKEN_OR(value)                                                                        \
    {                                                                                              \
        .name = "pad_token_id", .kind = MS_KEY_OPTIONAL, .offset = MEMBER(pad_token_id),           \
        .default_value = value, .null_kind = MS_DEFAULT_VALUE, .null_value = UINT64_MAX,           \
        .maximum = MAX_VOCAB                                                                       \
    }
#define PAD_TOKEN PAD_TOKEN_OR(-1)
#define KV_HEADS_AS_HEADS                                                                          \
    OPTIONAL("num_key_value_heads", num_kv_heads, MS_DEFAULT_SAME_AS, 0, MS_DEFAULT_SAME_AS, 0,    \
             MAX_HEADS)
/* `value` when absent; null as for KV_HEADS_AS_HEADS and HEAD_DIM_FROM_HIDDEN. */
#define KV_HEADS_OR(value)                                                                         \
    OPTIONAL("num_key_value_heads", num_kv_heads, MS_DEFAULT_VALUE, value, MS_DEFAULT_SAME_AS, 0,  \
             MAX_HEADS)
#define HEAD_DIM_FROM_HIDDEN                                                                       \
    OPTIONAL("head_dim", head_dim, MS_DEFAULT_HEAD_DIM, 0, MS_DEFAULT_HEAD_DIM, 0, MAX_HEAD_DIM)
/* `text`, or its newer places inside rope_scaling or rope_parameters. */
#define ROTARY_SHARE(text, value)                                                                  \
    {                                                                                              \
        .name = text,                                                                              \
        .aliases = {"/rope_scaling/partial_rotary_factor",                                         \
                    "/rope_parameters/partial_rotary_factor"},                                     \
        .kind = MS_KEY_FRACTION, .offset = MEMBER(rotary_share), .default_value = value            \
    }

#define LAYER_TYPES                                                                                \
    {                                                                                              \
        .name = "layer_types", .kind = MS_KEY_LAYER_TYPES                                          \
    }

#define EXPERTS(text, other, value)                                                                \
    {                                                                                              \
        .name = text, .aliases = {other}, .kind = MS_KEY_COUNT, .offset = MEMBER(num_experts),     \
        .default_value = value, .minimum = 1, .maximum = MAX_EXPERTS                               \
    }
#define EXPERTS_PER_TOKEN(value) COUNT("num_experts_per_tok", experts_per_token, value, MAX_EXPERTS)
#define DENSE_LAYERS                                                                               \
    {                                                                                              \
        .name = "mlp_only_layers", .kind = MS_KEY_DENSE_LAYERS                                     \
    }
#define ROUTER_LOGITS BOOL("output_router_logits", outputs_router_logits, false)

/* Keys of every decoder without effect on memory. */
#define DECODER_IGNORED                                                                            \
    IGNORED("initializer_range"), IGNORED("rms_norm_eps"), IGNORED("use_cache"),                   \
        IGNORED("bos_token_id"), IGNORED("eos_token_id"), IGNORED("rope_theta"),                   \
        ROPE("rope_scaling"), ROPE("rope_parameters")

/* For families whose class requires num_heads to divide hidden_size even if head_dim is given.
 * Others need it only to derive head_dim. */
ms_status ms_check_heads_divide(const ms_model_config *config, ms_error *err);

/* experts_per_token must not exceed num_experts. */
ms_status ms_check_experts(const ms_model_config *config, ms_error *err);

/* The same, and router jitter must be 0. */
ms_status ms_check_quiet_experts(const ms_model_config *config, ms_error *err);

#endif
