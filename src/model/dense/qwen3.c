/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Qwen3: families/qwen3.family has its keys, modules and calls.
 */
#include "model/family/family_list.h"

static const ms_family_facts facts = {
    .blocks = MS_BLOCKS_OF_LLAMA | MS_BLOCK_HEAD_NORMS,
    .compared = MS_WITH_ZERO3_LORA | MS_WITH_BROADCAST | MS_WITH_CHUNKED_LOSS,
    .has_head_norms = true,
    .has_seven_matrices = true,
    .peft = {.lora = {"q_proj", "v_proj"},
             .ia3 = {"q_proj", "v_proj", "down_proj"},
             .ia3_inputs = {"down_proj"}},
    .liger = {.kernels = MS_LIGER_ALL,
              .norms = MS_LIGER_IS_LAYER | MS_LIGER_IS_LAST | MS_LIGER_IS_HEADS,
              .logits_share = 1},
    .llama_cpp = "qwen3",
    .vllm = &(const ms_vllm_arch){.qkv_bias = MS_VLLM_BIAS_ASKED,
                                  .head_norms = MS_VLLM_HEAD_NORMS_LAST,
                                  .norms = 2,
                                  .mlp_rows = 4},
};

const ms_family ms_family_qwen3 = {
    .model_type = "qwen3",
    .facts = &facts,
    .classes = {{"Qwen3ForCausalLM", MS_HEAD_CAUSAL_LM},
                {"Qwen3ForSequenceClassification", MS_HEAD_LAST_TOKEN}},
    .takes_cache = true,
    .text_name = "qwen3"};
