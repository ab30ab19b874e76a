/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * ERNIE 4.5: families/ernie4_5.family has its keys, modules and calls.
 */
#include "model/family/family_list.h"

static const ms_family_facts facts = {
    .blocks = MS_BLOCKS_OF_LLAMA | MS_BLOCK_OTHER_ROTARY,
    .compared = MS_WITH_CHUNKED_LOSS,
    .casts_arguments = true,
};

const ms_family ms_family_ernie4_5 = {.model_type = "ernie4_5",
                                      .facts = &facts,
                                      .classes = {{"Ernie4_5ForCausalLM", MS_HEAD_CAUSAL_LM}},
                                      .takes_cache = true,
                                      .text_name = "ernie4_5"};
