/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Mistral and Ministral 3: families/mistral.family and families/ministral3.family have their keys,
 * modules and calls.
 */
#include "model/family/family_list.h"

static const ms_family_facts mistral_facts = {
    .blocks = MS_BLOCKS_OF_LLAMA,
    .compared = MS_WITH_ZERO3_LORA | MS_WITH_BROADCAST | MS_WITH_CHUNKED_LOSS,
    .has_seven_matrices = true,
    .peft = {.lora = {"q_proj", "v_proj"},
             .ia3 = {"k_proj", "v_proj", "down_proj"},
             .ia3_inputs = {"down_proj"}},
    .liger = {.kernels = MS_LIGER_ALL,
              .norms = MS_LIGER_IS_LAYER | MS_LIGER_IS_LAST,
              .logits_share = 1},
    .llama_cpp = "llama",
    .vllm = &(const ms_vllm_arch){.norms = 2, .mlp_rows = 3, .tie = MS_VLLM_TIE_DROPS},
};

const ms_family ms_family_mistral = {
    .model_type = "mistral",
    .facts = &mistral_facts,
    .classes = {{"MistralForCausalLM", MS_HEAD_CAUSAL_LM},
                {"MistralForSequenceClassification", MS_HEAD_LAST_TOKEN}},
    .takes_cache = true,
    .text_name = "mistral"};

static const ms_family_facts ministral3_facts = {
    .compared = MS_WITH_ACCELERATE_UNITS | MS_WITH_TITAN_UNITS | MS_WITH_ZERO3 | MS_WITH_CONTEXT |
                MS_WITH_CHUNKED_LOSS,
};

const ms_family ms_family_ministral3 = {
    .model_type = "ministral3",
    .facts = &ministral3_facts,
    .classes = {{"Ministral3ForCausalLM", MS_HEAD_CAUSAL_LM},
                {"Ministral3ForSequenceClassification", MS_HEAD_LAST_TOKEN}},
    .takes_cache = true,
    .text_name = "ministral3"};
