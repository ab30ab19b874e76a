/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Command R and Command R7B: families/cohere.family and families/cohere2.family have their keys,
 * modules and calls.
 */
#include "model/family/family_list.h"
#include "model/family/family_keys.h"

static const ms_family_facts cohere_facts = {
    .compared = MS_WITH_TITAN_UNITS | MS_WITH_CONTEXT | MS_WITH_ZERO3 | MS_WITH_ACCELERATE_UNITS |
                MS_WITH_BROADCAST,
};

const ms_family ms_family_cohere = {.model_type = "cohere",
                                    .facts = &cohere_facts,
                                    .classes = {{"CohereForCausalLM", MS_HEAD_CAUSAL_LM}},
                                    .check = ms_check_heads_divide,
                                    .scales_logits = true,
                                    .takes_cache = true,
                                    .text_name = "cohere"};

static const ms_family_facts cohere2_facts = {
    .compared = MS_WITH_ACCELERATE_UNITS | MS_WITH_TITAN_UNITS | MS_WITH_ZERO3,
};

const ms_family ms_family_cohere2 = {.model_type = "cohere2",
                                     .facts = &cohere2_facts,
                                     .classes = {{"Cohere2ForCausalLM", MS_HEAD_CAUSAL_LM}},
                                     .check = ms_check_heads_divide,
                                     .scales_logits = true,
                                     .takes_cache = true,
                                     .text_name = "cohere2"};
