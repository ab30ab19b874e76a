/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * GPT-2: families/gpt2.family has its keys, modules and calls.
 */
#include "model/family/family_keys.h"
#include "model/family/family_list.h"

static const ms_family_facts facts = {
    .compared = MS_WITH_CHUNKED_LOSS,
    .peft = {.lora = {"c_attn"}, .ia3 = {"c_attn", "mlp.c_proj"}, .ia3_inputs = {"mlp.c_proj"}},
    .llama_cpp = "gpt2",
    .has_conv1d = true,
    .awq_differs = true,
};

const ms_family ms_family_gpt2 = {
    .model_type = "gpt2",
    .facts = &facts,
    .classes = {{"GPT2LMHeadModel", MS_HEAD_CAUSAL_LM},
                {"GPT2ForSequenceClassification", MS_HEAD_LAST_TOKEN}},
    .check = ms_check_heads_divide,
    .takes_cache = true,
    .text_name = "gpt2"};
