/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * GPT-2: families/gpt2.family has its keys, modules and calls.
 */
#include "model/family/family_keys.h"
#include "model/family/family_list.h"

const ms_family ms_family_gpt2 = {
    .model_type = "gpt2",
    .classes = {{"GPT2LMHeadModel", MS_HEAD_CAUSAL_LM},
                {"GPT2ForSequenceClassification", MS_HEAD_LAST_TOKEN}},
    .check = ms_check_heads_divide,
    .takes_cache = true,
    .text_name = "gpt2"};
