/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Gemma 2: families/gemma2.family has its keys, modules and calls.
 */
#include "model/family/family_list.h"
#include "model/family/family_keys.h"

static const ms_family_facts facts = {
    .compared = MS_WITH_ZERO3 | MS_WITH_ACCELERATE_UNITS | MS_WITH_BROADCAST | MS_WITH_CHUNKED_LOSS,
    .peft = {.lora = {"q_proj", "v_proj"},
             .ia3 = {"q_proj", "v_proj", "down_proj"},
             .ia3_inputs = {"down_proj"}},
    .liger = {.kernels = MS_LIGER_ALL,
              .norms = MS_LIGER_IS_LAYER | MS_LIGER_IS_LAST,
              .copying_norms = MS_LIGER_IS_LAYER | MS_LIGER_IS_LAST,
              .logits_share = 1},
    .llama_cpp = "gemma2",
    .vllm = &(const ms_vllm_arch){.qkv_bias = MS_VLLM_BIAS_ASKED,
                                  .out_bias = MS_VLLM_BIAS_ASKED,
                                  .norms = 4,
                                  .mlp_rows = 5,
                                  .has_normalizer = true,
                                  .always_ties = true},
};

const ms_family ms_family_gemma2 = {.model_type = "gemma2",
                                    .facts = &facts,
                                    .classes = {{"Gemma2ForCausalLM", MS_HEAD_CAUSAL_LM}},
                                    .check = ms_check_heads_divide,
                                    .eager_only = true,
                                    .takes_cache = true,
                                    .text_name = "gemma2"};
