/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * DeepSeek-V3.2: families/deepseek_v32.family has its keys, modules and calls.
 */
#include "model/family/family_list.h"
#include "model/family/family_keys.h"
#include "model/mixture/deepseek_moe.h"

static ms_status check(const ms_model_config *config, ms_error *err)
{
    ms_status status = ms_check_latent(config, err);
    if (status == MS_OK && config->index_dim <= config->head_dim) {
        snprintf(err->pointer, sizeof err->pointer, "/index_head_dim");
        return ms_fail(err, MS_ERR_CONFIG, "%" PRIu64 " is not more than qk_rope_head_dim %" PRIu64,
                       config->index_dim, config->head_dim);
    }
    return status == MS_OK ? ms_check_groups(config, 2, err) : status;
}

static const ms_family_facts facts = {
    .peft = {.exchanged = ms_experts_of_qwen2_moe,
             .refused = {{"wq_b", "no gradient comes to the indexer", "q_a_proj"},
                         {"wk", "no gradient comes to the indexer", "q_a_proj"},
                         {"weights_proj", "no gradient comes to the indexer", "q_a_proj"}}},
};

const ms_family ms_family_deepseek_v32 = {
    .model_type = "deepseek_v32",
    .facts = &facts,
    .classes = {{"DeepseekV32ForCausalLM", MS_HEAD_CAUSAL_LM}},
    .check = check,
    .always_masks = true,
    .unpredicted = MS_UNPREDICTED_DOCUMENTS | MS_UNPREDICTED_HOST_PARAMETERS,
    .text_name = "deepseek_v32"};
