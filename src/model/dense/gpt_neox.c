/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * GPT-NeoX and Pythia: families/gpt_neox.family has their keys, modules and calls.
 */
#include "model/family/family_list.h"
#include "model/family/family_keys.h"

static const ms_family_facts facts = {
    .compared = MS_WITH_CHUNKED_LOSS,
    .peft = {.lora = {"query_key_value"},
             .ia3 = {"query_key_value", "dense_4h_to_h"},
             .ia3_inputs = {"dense_4h_to_h"}},
    .awq_differs = true,
};

const ms_family ms_family_gpt_neox = {.model_type = "gpt_neox",
                                      .facts = &facts,
                                      .classes = {{"GPTNeoXForCausalLM", MS_HEAD_CAUSAL_LM}},
                                      .check = ms_check_heads_divide,
                                      .takes_cache = true,
                                      .text_name = "gpt_neox"};
