/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * RoBERTa, XLM-RoBERTa and CamemBERT: texts of families/ have their keys, modules and calls.
 */
#include <stdio.h>

#include "model/family/family_keys.h"
#include "model/family/family_list.h"

/* Positions are counted from the padding token's id. */
static ms_status derive(ms_model_config *config, ms_error *err)
{
    const char *reason = NULL;
    if (config->pad_token_id == UINT64_MAX)
        reason = "null, but positions are counted from it";
    else if (config->pad_token_id + 1 >= config->max_positions)
        reason = "leaves no position of max_position_embeddings to a token";
    if (reason) {
        snprintf(err->pointer, sizeof err->pointer, "/pad_token_id");
        return ms_fail(err, MS_ERR_CONFIG, "%s", reason);
    }
    config->skipped_positions = config->pad_token_id + 1;
    return MS_OK;
}

static const ms_family_facts roberta_facts = {
    .peft = {.lora = {"query", "value"},
             .ia3 = {"key", "value", "output.dense"},
             .ia3_inputs = {"output.dense"}},
};

static const ms_family_facts xlm_roberta_facts = {
    .peft = {.lora = {"query", "value"}},
};

static const ms_family_facts camembert_facts = {
    .peft = {.usual_lora = "query+value"},
};

/* clang-format off */
#define FAMILY(name, type, class)                                                           \
    const ms_family ms_family_##name = {                                                           \
        .model_type = type,                                                                        \
        .classes = {{class "ForMaskedLM", MS_HEAD_MASKED_LM},                                      \
                    {class "ForSequenceClassification", MS_HEAD_FIRST_TOKEN},                      \
                    {class "ForTokenClassification", MS_HEAD_EACH_TOKEN}},                         \
        .derive = derive,                                                                          \
        .check = ms_check_heads_divide,                                                            \
        .has_no_mlp_module = true,                                                                 \
        .is_bidirectional = true,                                                                  \
        .facts = &name##_facts, .text_name = #name}
/* clang-format on */

FAMILY(roberta, "roberta", "Roberta");
FAMILY(xlm_roberta, "xlm-roberta", "XLMRoberta");
FAMILY(camembert, "camembert", "Camembert");
