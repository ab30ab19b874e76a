/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Arcee's AFM: families/arcee.family has its keys, modules and calls.
 */
#include "model/family/family_keys.h"
#include "model/family/family_list.h"

static const ms_family_facts facts = {
    .blocks = MS_BLOCK_PROJECTIONS | MS_BLOCK_TWO_NORMS | MS_BLOCK_PLAIN_MLP,
    .compared = MS_WITH_CHUNKED_LOSS,

};

const ms_family ms_family_arcee = {
    .model_type = "arcee",
    .facts = &facts,
    .classes = {{"ArceeForCausalLM", MS_HEAD_CAUSAL_LM},
                {"ArceeForSequenceClassification", MS_HEAD_LAST_TOKEN}},
    .check = ms_check_heads_divide,
    .takes_cache = true,
    .text_name = "arcee"};
