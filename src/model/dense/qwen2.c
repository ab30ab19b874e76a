/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Qwen2: families/qwen2.family has its keys, modules and calls.
 */
#include "model/family/family_list.h"

static const ms_family_facts facts = {
    .blocks = MS_BLOCKS_OF_LLAMA,
    .compared = MS_WITH_ZERO3_LORA | MS_WITH_BROADCAST | MS_WITH_CHUNKED_LOSS,
    .has_seven_matrices = true,
    .has_fixed_biases = true,
    .peft = {.lora = {"q_proj", "v_proj"},
             .ia3 = {"q_proj", "v_proj", "down_proj"},
             .ia3_inputs = {"down_proj"}},
    .liger = {.kernels = MS_LIGER_ALL,
              .norms = MS_LIGER_IS_LAYER | MS_LIGER_IS_LAST,
              .logits_share = 1},
    .llama_cpp = "qwen2",
    .vllm = &(const ms_vllm_arch){.qkv_bias = MS_VLLM_BIAS_ALWAYS, .norms = 2, .mlp_rows = 4},
};

const ms_family ms_family_qwen2 = {
    .model_type = "qwen2",
    .facts = &facts,
    .classes = {{"Qwen2ForCausalLM", MS_HEAD_CAUSAL_LM},
                {"Qwen2ForSequenceClassification", MS_HEAD_LAST_TOKEN}},
    .takes_cache = true,
    .text_name = "qwen2"};
