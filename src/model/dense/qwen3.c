/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Qwen3: families/qwen3.family has its keys, modules and calls.
 */
#include "model/family/family_list.h"

const ms_family ms_family_qwen3 = {
    .model_type = "qwen3",
    .classes = {{"Qwen3ForCausalLM", MS_HEAD_CAUSAL_LM},
                {"Qwen3ForSequenceClassification", MS_HEAD_LAST_TOKEN}},
    .takes_cache = true,
    .text_name = "qwen3"};
