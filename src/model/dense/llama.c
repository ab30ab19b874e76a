/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Llama: families/llama.family has its keys, modules and calls.
 */
#include "model/family/family_list.h"
#include "model/family/family_keys.h"

static const ms_family_facts facts = {
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
    .vllm = &(const ms_vllm_arch){.qkv_bias = MS_VLLM_BIAS_ASKED,
                                  .out_bias = MS_VLLM_BIAS_ASKED,
                                  .norms = 2,
                                  .mlp_rows = 3,
                                  .tie = MS_VLLM_TIE_DROPS},
};

const ms_family ms_family_llama = {
    .model_type = "llama",
    .facts = &facts,
    .classes = {{"LlamaForCausalLM", MS_HEAD_CAUSAL_LM},
                {"LlamaForSequenceClassification", MS_HEAD_LAST_TOKEN}},
    .check = ms_check_heads_divide,
    .takes_cache = true,
    .text_name = "llama"};
