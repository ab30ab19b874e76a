/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Mamba: families/mamba.family has its keys, modules and calls.
 */
#include "model/family/family_list.h"

static const ms_family_facts facts = {
    .peft = {.usual_lora = "in_proj",
             .refused = {{"out_proj", "PEFT refuses to adapt it", "in_proj"},
                         {"dt_proj", "the mixer reads its weight without calling it", "in_proj"}}},
};

const ms_family ms_family_mamba = {.model_type = "mamba",
                                   .facts = &facts,
                                   .classes = {{"MambaForCausalLM", MS_HEAD_CAUSAL_LM}},
                                   .scales_logits = true, /* to fp32 */
                                   .has_no_attention = true,
                                   .has_no_rotary = true,
                                   .has_no_mlp_module = true,
                                   .unpredicted =
                                       MS_UNPREDICTED_HOST_PARAMETERS | MS_UNPREDICTED_PADDING,
                                   .takes_cache = true,
                                   .text_name = "mamba"};
