/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * StarCoder2: families/starcoder2.family has its keys, modules and calls.
 */
#include "model/family/family_list.h"

static const ms_family_facts facts = {
    .blocks = MS_BLOCK_PROJECTIONS | MS_BLOCK_LAYER_NORMS | MS_BLOCK_PLAIN_MLP,
    .compared = MS_WITH_BROADCAST | MS_WITH_CHUNKED_LOSS,
    .awq_differs = true,
};

const ms_family ms_family_starcoder2 = {.model_type = "starcoder2",
                                        .facts = &facts,
                                        .classes = {{"Starcoder2ForCausalLM", MS_HEAD_CAUSAL_LM}},
                                        .takes_cache = true,
                                        .text_name = "starcoder2"};
