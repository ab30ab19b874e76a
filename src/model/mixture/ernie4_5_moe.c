/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * ERNIE 4.5 with experts: families/ernie4_5_moe.family has its keys, modules and calls.
 */
#include "input/config/model/family.h"
#include "model/family/family_list.h"
#include "model/family/family_keys.h"

static ms_status check(const ms_model_config *config, ms_error *err)
{
    if (config->experts_per_token <= config->num_experts)
        return MS_OK;
    snprintf(err->pointer, sizeof err->pointer, "/moe_k");
    return ms_fail(err, MS_ERR_CONFIG, "%" PRIu64 " experts per token, but there are %" PRIu64,
                   config->experts_per_token, config->num_experts);
}

static const ms_family_facts facts = {
    .compared = MS_WITH_CHUNKED_LOSS,
    .peft = {.exchanged = ms_experts_of_qwen2_moe},
};

const ms_family ms_family_ernie4_5_moe = {
    .model_type = "ernie4_5_moe",
    .facts = &facts,
    .classes = {{"Ernie4_5_MoeForCausalLM", MS_HEAD_CAUSAL_LM}},
    .check = check,
    .unpredicted = MS_UNPREDICTED_HOST_PARAMETERS | MS_UNPREDICTED_SHARDS,
    .takes_cache = true,
    .text_name = "ernie4_5_moe"};
