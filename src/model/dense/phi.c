/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Phi-1, 1.5 and 2: families/phi.family has their keys, modules and calls.
 */
#include "model/family/family_list.h"
#include "model/family/family_keys.h"

static const ms_family_facts facts = {
    .compared = MS_WITH_CHUNKED_LOSS,
    .peft = {.lora = {"q_proj", "v_proj", "fc1", "fc2"},
             .ia3 = {"q_proj", "v_proj", "fc2"},
             .ia3_inputs = {"fc2"}},
};

const ms_family ms_family_phi = {.model_type = "phi",
                                 .facts = &facts,
                                 .classes = {{"PhiForCausalLM", MS_HEAD_CAUSAL_LM}},
                                 .check = ms_check_heads_divide,
                                 .cuts_by_share = true,
                                 .takes_cache = true,
                                 .text_name = "phi"};
