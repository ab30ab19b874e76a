/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The families' key tables without their programs, for tests of the readers alone.
 */
#ifndef MS_TESTS_UNIT_FAMILIES_H
#define MS_TESTS_UNIT_FAMILIES_H

#define MS_LLAMA_KEYS
#define MS_MISTRAL_KEYS
#define MS_QWEN2_KEYS
#define MS_QWEN3_KEYS
#define MS_GPT2_KEYS
#include "model/family_keys.h"

#define FAMILY(type, class, rows, rule, learned)                                                   \
    {                                                                                              \
        .model_type = type, .class_name = class, .keys = rows,                                     \
        .key_count = sizeof rows / sizeof rows[0], .check = rule, .learned_positions = learned     \
    }

static const ms_family llama_family =
    FAMILY("llama", "LlamaForCausalLM", llama_keys, check_heads_divide, false);
static const ms_family mistral_family =
    FAMILY("mistral", "MistralForCausalLM", mistral_keys, NULL, false);
static const ms_family qwen2_family = FAMILY("qwen2", "Qwen2ForCausalLM", qwen2_keys, NULL, false);
static const ms_family qwen3_family = FAMILY("qwen3", "Qwen3ForCausalLM", qwen3_keys, NULL, false);
static const ms_family gpt2_family =
    FAMILY("gpt2", "GPT2LMHeadModel", gpt2_keys, check_heads_divide, true);

static const ms_family *const test_families[] = {&llama_family, &mistral_family, &qwen2_family,
                                                 &qwen3_family, &gpt2_family};

#endif
