/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * GLM-4.5 and 4.6: families/glm4_moe.family has its keys, modules and calls.
 */
#include "model/family/family_list.h"
#include "model/mixture/expert_groups.h"
#include "model/family/family_keys.h"

static const ms_family_facts facts = {
    .compared = MS_WITH_ZERO3 | MS_WITH_ZERO3_EXPERTS | MS_WITH_CHUNKED_LOSS,
    .peft = {.exchanged = ms_experts_of_qwen2_moe},
};

const ms_family ms_family_glm4_moe = {.model_type = "glm4_moe",
                                      .facts = &facts,
                                      .classes = {{"Glm4MoeForCausalLM", MS_HEAD_CAUSAL_LM}},
                                      .check = ms_check_pairs,
                                      .takes_cache = true,
                                      .text_name = "glm4_moe"};
