/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * StableLM: families/stablelm.family has its keys, modules and calls.
 */
#include "model/family/family_list.h"
#include "model/family/family_keys.h"

static const ms_family_facts facts = {
    .compared = MS_WITH_ACCELERATE_UNITS | MS_WITH_TITAN_UNITS | MS_WITH_CONTEXT |
                MS_WITH_PIPELINE | MS_WITH_CHUNKED_LOSS,
    .peft = {.lora = {"q_proj", "v_proj"}},
};

const ms_family ms_family_stablelm = {.model_type = "stablelm",
                                      .facts = &facts,
                                      .classes = {{"StableLmForCausalLM", MS_HEAD_CAUSAL_LM}},
                                      .check = ms_check_heads_divide,
                                      .cuts_by_share = true,
                                      .takes_cache = true,
                                      .text_name = "stablelm"};
