/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * ModernBERT: families/modernbert.family has its keys, modules and calls.
 */
#include "model/family/family_keys.h"
#include "model/family/family_list.h"

/* Half of the window stands on each side of a token. */
static ms_status derive(ms_model_config *config, ms_error *err)
{
    (void)err;
    config->sliding_window = config->local_attention / 2;
    return MS_OK;
}

const ms_family ms_family_modernbert = {
    .model_type = "modernbert",
    .classes = {{"ModernBertForMaskedLM", MS_HEAD_MASKED_LM},
                {"ModernBertForSequenceClassification", MS_HEAD_FIRST_TOKEN},
                {"ModernBertForTokenClassification", MS_HEAD_EACH_TOKEN}},
    .derive = derive,
    .check = ms_check_heads_divide,
    .is_bidirectional = true,
    .text_name = "modernbert",
    .facts = &(const ms_family_facts){.peft = {.usual_lora = "Wqkv"}}};
