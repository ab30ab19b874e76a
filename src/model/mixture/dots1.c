/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * dots.llm1: families/dots1.family has its keys, modules and calls.
 */
#include "model/family/family_list.h"
#include "model/mixture/expert_groups.h"

static const ms_family_facts facts = {
    .compared = MS_WITH_ZERO3 | MS_WITH_ZERO3_EXPERTS | MS_WITH_CHUNKED_LOSS,
    .peft = {.exchanged = ms_experts_of_qwen2_moe},
};

const ms_family ms_family_dots1 = {.model_type = "dots1",
                                   .facts = &facts,
                                   .classes = {{"Dots1ForCausalLM", MS_HEAD_CAUSAL_LM}},
                                   .check = ms_check_pairs,
                                   .takes_cache = true,
                                   .text_name = "dots1"};
