/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Llama: families/llama.family has its keys, modules and calls.
 */
#include "model/family/family_list.h"
#include "model/family/family_keys.h"

const ms_family ms_family_llama = {
    .model_type = "llama",
    .classes = {{"LlamaForCausalLM", MS_HEAD_CAUSAL_LM},
                {"LlamaForSequenceClassification", MS_HEAD_LAST_TOKEN}},
    .check = ms_check_heads_divide,
    .takes_cache = true,
    .text_name = "llama"};
