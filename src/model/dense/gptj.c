/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * GPT-J: families/gptj.family has its keys, modules and calls.
 */
#include <inttypes.h>
#include <stdio.h>

#include "model/family/family_keys.h"
#include "model/family/family_list.h"

static ms_status check(const ms_model_config *config, ms_error *err)
{
    ms_status status = ms_check_heads_divide(config, err);
    if (status != MS_OK)
        return status;
    if (config->rotary_width % 2 == 0 &&
        config->rotary_width <= config->hidden_size / config->num_heads)
        return MS_OK;
    snprintf(err->pointer, sizeof err->pointer, "/rotary_dim");
    return ms_fail(err, MS_ERR_CONFIG,
                   "%" PRIu64 " elements are rotated: only an even number below the head's %" PRIu64
                   " is supported",
                   config->rotary_width, config->hidden_size / config->num_heads);
}

static const ms_family_facts facts = {
    .peft = {.lora = {"q_proj", "v_proj"},
             .ia3 = {"q_proj", "v_proj", "fc_out"},
             .ia3_inputs = {"fc_out"}},
};

const ms_family ms_family_gptj = {.model_type = "gptj",
                                  .facts = &facts,
                                  .classes = {{"GPTJForCausalLM", MS_HEAD_CAUSAL_LM}},
                                  .check = check,
                                  .eager_only = true,
                                  .takes_cache = true,
                                  .text_name = "gptj"};
