/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Mixtral: families/mixtral.family has its keys, modules and calls.
 */
#include "model/family/family_list.h"
#include "model/family/family_keys.h"

static const ms_family_facts facts = {
    .compared =
        MS_WITH_ZERO3 | MS_WITH_ZERO3_EXPERTS | MS_WITH_ACCELERATE_UNITS | MS_WITH_CHUNKED_LOSS,
    .has_leaf_experts = true,
    .peft = {.lora = {"q_proj", "v_proj"},
             .ia3 = {"k_proj", "v_proj", "w2"},
             .ia3_inputs = {"w2"},
             .exchanged = ms_experts_of_mixtral},
    .liger = {.kernels = MS_LIGER_ALL,
              .norms = MS_LIGER_IS_LAYER | MS_LIGER_IS_LAST,
              .logits_share = 1},
    .llama_cpp = "llama",
    .vllm =
        &(const ms_vllm_arch){.norms = 2, .tie = MS_VLLM_TIE_DROPS, .experts = MS_VLLM_EXPERTS_ALL},
};

const ms_family ms_family_mixtral = {.model_type = "mixtral",
                                     .facts = &facts,
                                     .classes = {{"MixtralForCausalLM", MS_HEAD_CAUSAL_LM}},
                                     .check = ms_check_quiet_experts,
                                     .takes_cache = true,
                                     .text_name = "mixtral"};
