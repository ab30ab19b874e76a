/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Llama 4: families/llama4_text.family and llama4.family have keys, modules and calls of the text
 * model, alone and with a vision tower.
 */
#include "model/family/family_keys.h"
#include "model/family/family_list.h"

const ms_family ms_family_llama4_text = {.model_type = "llama4_text",
                                         .classes = {{"Llama4ForCausalLM", MS_HEAD_CAUSAL_LM}},
                                         .check = ms_check_experts,
                                         .has_chunks = true,
                                         .grouped_experts_only = true,
                                         .batched_experts_only = true,
                                         .has_linear_router = true,
                                         .takes_cache = true,
                                         .unpredicted = MS_UNPREDICTED_PADDING,
                                         .text_name = "llama4_text"};

/* ---- with a vision tower ---- */

static const ms_family_facts llama4_facts = {
    .peft = {.lora = {"q_proj", "v_proj"},
             .ia3 = {"q_proj", "v_proj", "down_proj"},
             .ia3_inputs = {"down_proj"}},
};

const ms_family ms_family_llama4 = {
    .model_type = "llama4",
    .facts = &llama4_facts,
    .classes = {{"Llama4ForConditionalGeneration", MS_HEAD_CAUSAL_LM}},
    .check = ms_check_experts,
    .has_chunks = true,
    .grouped_experts_only = true,
    .batched_experts_only = true,
    .has_linear_router = true,
    .takes_cache = true,
    .unpredicted = MS_UNPREDICTED_PADDING,
    .text_name = "llama4"};
