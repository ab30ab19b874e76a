/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Qwen2: families/qwen2.family has its keys, modules and calls.
 */
#include "model/family/family_list.h"

const ms_family ms_family_qwen2 = {
    .model_type = "qwen2",
    .classes = {{"Qwen2ForCausalLM", MS_HEAD_CAUSAL_LM},
                {"Qwen2ForSequenceClassification", MS_HEAD_LAST_TOKEN}},
    .takes_cache = true,
    .text_name = "qwen2"};
