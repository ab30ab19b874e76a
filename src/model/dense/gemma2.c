/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Gemma 2: families/gemma2.family has its keys, modules and calls; what its successors share is
 * here.
 */
#include "model/family/family_list.h"
#include "model/family/family_keys.h"
#include "model/dense/gemma.h"

ms_decoder_style ms_gemma2_style(const ms_model_config *config)
{
    ms_decoder_style style = ms_gemma_style(config);
    style.norms[0] = (ms_norm_row){"input_layernorm", MS_NORM_BEFORE_ATTENTION};
    style.norms[1] = (ms_norm_row){"post_attention_layernorm", MS_NORM_AFTER_ATTENTION};
    style.norms[2] = (ms_norm_row){"pre_feedforward_layernorm", MS_NORM_BEFORE_MLP};
    style.norms[3] = (ms_norm_row){"post_feedforward_layernorm", MS_NORM_AFTER_MLP};
    style.mask_arguments = style.both_masks = true;
    return style;
}

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
