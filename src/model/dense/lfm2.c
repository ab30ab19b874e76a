/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * LFM2: families/lfm2.family has its keys, modules and calls.
 */
#include "model/family/family_keys.h"
#include "model/family/family_list.h"

static const ms_family_facts facts = {
    .compared = MS_WITH_CHUNKED_LOSS,
    .llama_cpp = "lfm2",
};

const ms_family ms_family_lfm2 = {.model_type = "lfm2",
                                  .facts = &facts,
                                  .classes = {{"Lfm2ForCausalLM", MS_HEAD_CAUSAL_LM}},
                                  .check = ms_check_heads_divide,
                                  .unpredicted = MS_UNPREDICTED_PADDING,
                                  .text_name = "lfm2"};
