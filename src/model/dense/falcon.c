/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Falcon: families/falcon.family has its keys, modules and calls. The first files, RefinedWebModel
 * (7B) and RefinedWeb (40B), do not say which architecture they are.
 */
#include <stdio.h>

#include "input/config/model/model_config.h"
#include "input/config/model/family.h"
#include "model/family/family_list.h"

static ms_status refuse(ms_error *err, const char *key, const char *reason)
{
    snprintf(err->pointer, sizeof err->pointer, "/%s", key);
    return ms_fail(err, MS_ERR_CONFIG, "%s", reason);
}

/* What the class makes of keys that depend on each other. */
static ms_status derive(ms_model_config *config, ms_error *err)
{
    if (!config->groups_kv && !config->shares_kv && config->num_kv_heads != config->num_heads)
        return refuse(
            err, "num_kv_heads",
            "without new_decoder_architecture and multi_query every head has its own key");
    if (config->groups_kv && !config->is_parallel)
        return refuse(err, "parallel_attn",
                      "new_decoder_architecture has attention and MLP side by side");
    if (config->parallel_norms == UINT64_MAX)
        config->parallel_norms = config->groups_kv ? 2 : 1;
    if (config->parallel_norms == 2 && !config->groups_kv && config->is_parallel)
        return refuse(err, "num_ln_in_parallel_attn",
                      "two norms need new_decoder_architecture; the class has no forward for them");
    if (!config->groups_kv && config->shares_kv)
        config->num_kv_heads = 1;
    config->broadcasts_kv =
        config->num_kv_heads == 1 && !config->groups_kv && config->num_heads > 1;
    config->mixing_dropout = config->attention_dropout;
    if (!config->alibi) /* then the probabilities are not dropped */
        config->attention_dropout = 0;
    return MS_OK;
}

static const ms_family_facts falcon_facts = {
    .compared = MS_WITH_CHUNKED_LOSS,
    .peft = {.lora = {"query_key_value"},
             .ia3 = {"query_key_value", "dense_4h_to_h"},
             .ia3_inputs = {"dense_4h_to_h"}},
    .has_own_linear = true,
    .has_code_of_its_own = true,
};

static const ms_family_facts refinedwebmodel_facts = {
    .peft = {.lora = {"query_key_value"},
             .ia3 = {"query_key_value", "dense_4h_to_h"},
             .ia3_inputs = {"dense_4h_to_h"}},
};

static const ms_family_facts refinedweb_facts = {
    .peft = {.lora = {"query_key_value"},
             .ia3 = {"query_key_value", "dense_4h_to_h"},
             .ia3_inputs = {"dense_4h_to_h"}},
};

#define FALCON(type, known, text)                                                                  \
    {                                                                                              \
        .model_type = type,                                                                        \
        .classes = {{"FalconForCausalLM", MS_HEAD_CAUSAL_LM},                                      \
                    {"FalconForSequenceClassification", MS_HEAD_LAST_TOKEN},                       \
                    {"RWForCausalLM", MS_HEAD_CAUSAL_LM},                                          \
                    {"RWForSequenceClassification", MS_HEAD_LAST_TOKEN}},                          \
        .derive = derive, .always_masks = true, .takes_cache = true, .text_name = text,            \
        .facts = known, .unpredicted = MS_UNPREDICTED_DOCUMENTS                                    \
    }

const ms_family ms_family_falcon = FALCON("falcon", &falcon_facts, "falcon");
const ms_family ms_family_refined_web_model =
    FALCON("RefinedWebModel", &refinedwebmodel_facts, "refined_web_model");
const ms_family ms_family_refined_web = FALCON("RefinedWeb", &refinedweb_facts, "refined_web");
