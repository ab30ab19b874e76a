/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * ELECTRA: families/electra.family has its keys, modules and calls.
 */
#include "model/family/family_keys.h"
#include "model/family/family_list.h"

static const ms_family_facts facts = {
    .peft = {.lora = {"query", "value"}},
};

const ms_family ms_family_electra = {
    .model_type = "electra",
    .facts = &facts,
    .classes = {{"ElectraForMaskedLM", MS_HEAD_MASKED_LM},
                {"ElectraForSequenceClassification", MS_HEAD_FIRST_TOKEN},
                {"ElectraForTokenClassification", MS_HEAD_EACH_TOKEN}},
    .check = ms_check_heads_divide,
    .has_no_mlp_module = true,
    .is_bidirectional = true,
    .text_name = "electra"};
