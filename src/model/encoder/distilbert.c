/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * DistilBERT: families/distilbert.family has its keys, modules and calls.
 */
#include "model/family/family_keys.h"
#include "model/family/family_list.h"

static const ms_family_facts facts = {
    .peft = {.usual_lora = "q_lin+v_lin"},
};

const ms_family ms_family_distilbert = {
    .model_type = "distilbert",
    .facts = &facts,
    .classes = {{"DistilBertForMaskedLM", MS_HEAD_MASKED_LM},
                {"DistilBertForSequenceClassification", MS_HEAD_FIRST_TOKEN},
                {"DistilBertForTokenClassification", MS_HEAD_EACH_TOKEN}},
    .check = ms_check_heads_divide,
    .has_no_mlp_module = true,
    .is_bidirectional = true,
    .text_name = "distilbert"};
