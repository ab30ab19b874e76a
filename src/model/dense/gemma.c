/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Gemma: families/gemma.family has its keys, modules and calls.
 */
#include "model/family/family_list.h"

static const ms_family_facts facts = {
    .blocks = MS_BLOCKS_OF_LLAMA | MS_BLOCK_FACTORS,
    .compared = MS_WITH_BROADCAST | MS_WITH_CHUNKED_LOSS,
    .peft = {.lora = {"q_proj", "v_proj"},
             .ia3 = {"q_proj", "v_proj", "down_proj"},
             .ia3_inputs = {"down_proj"}},
    .liger = {.kernels = MS_LIGER_ALL,
              .norms = MS_LIGER_IS_LAYER | MS_LIGER_IS_LAST,
              .logits_share = 1},
};

const ms_family ms_family_gemma = {.model_type = "gemma",
                                   .facts = &facts,
                                   .classes = {{"GemmaForCausalLM", MS_HEAD_CAUSAL_LM}},
                                   .takes_cache = true,
                                   .text_name = "gemma"};
