/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * BERT: families/bert.family has its keys, modules and calls.
 */
#include "model/family/family_keys.h"
#include "model/family/family_list.h"

static const ms_family_facts facts = {
    .peft = {.lora = {"query", "value"},
             .ia3 = {"key", "value", "output.dense"},
             .ia3_inputs = {"output.dense"}},
};

const ms_family ms_family_bert = {
    .model_type = "bert",
    .facts = &facts,
    .classes = {{"BertForMaskedLM", MS_HEAD_MASKED_LM},
                {"BertForSequenceClassification", MS_HEAD_FIRST_TOKEN},
                {"BertForTokenClassification", MS_HEAD_EACH_TOKEN},
                {"BertForPreTraining", MS_HEAD_PRETRAINING}},
    .check = ms_check_heads_divide,
    .has_no_mlp_module = true,
    .is_bidirectional = true,
    .text_name = "bert"};
