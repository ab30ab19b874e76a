/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * OPT: families/opt.family has its keys, modules and calls.
 */
#include <stdio.h>

#include "input/config/model/model_config.h"
#include "input/config/model/family.h"
#include "model/family/family_list.h"

static ms_status check(const ms_model_config *config, ms_error *err)
{
    if (config->layer_drop <= 0)
        return MS_OK;
    snprintf(err->pointer, sizeof err->pointer, "/layerdrop");
    return ms_fail(err, MS_ERR_CONFIG, "layers skipped at random are not supported, only 0 is");
}

static const ms_family_facts facts = {
    .compared = MS_WITH_CHUNKED_LOSS,
    .peft = {.lora = {"q_proj", "v_proj"},
             .ia3 = {"q_proj", "k_proj", "fc2"},
             .ia3_inputs = {"fc2"}},
};

const ms_family ms_family_opt = {.model_type = "opt",
                                 .facts = &facts,
                                 .unpredicted = MS_UNPREDICTED_DOCUMENTS,
                                 .classes = {{"OPTForCausalLM", MS_HEAD_CAUSAL_LM},
                                             {"OPTForSequenceClassification", MS_HEAD_LAST_TOKEN}},
                                 .check = check,
                                 .has_no_mlp_module = true,
                                 .takes_cache = true,
                                 .counts_seen = true,
                                 .text_name = "opt"};
