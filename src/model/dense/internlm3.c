/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * InternLM 3: families/internlm3.family has its keys, modules and calls.
 */
#include "model/family/family_list.h"

static const ms_family_facts facts = {
    .blocks = MS_BLOCKS_OF_LLAMA,
};

const ms_family ms_family_internlm3 = {.model_type = "internlm3",
                                       .facts = &facts,
                                       .classes = {{"InternLM3ForCausalLM", MS_HEAD_CAUSAL_LM},
                                                   {"LlamaForCausalLM", MS_HEAD_CAUSAL_LM}},
                                       .takes_cache = true,
                                       .text_name = "internlm3"};
