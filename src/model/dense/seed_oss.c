/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Seed-OSS: families/seed_oss.family has its keys, modules and calls.
 */
#include "model/family/family_list.h"

static const ms_family_facts facts = {
    .blocks = MS_BLOCKS_OF_LLAMA,
    .compared = MS_WITH_CHUNKED_LOSS,

};

const ms_family ms_family_seed_oss = {.model_type = "seed_oss",
                                      .facts = &facts,
                                      .classes = {{"SeedOssForCausalLM", MS_HEAD_CAUSAL_LM}},
                                      .takes_cache = true,
                                      .text_name = "seed_oss"};
