/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Phi-3 and Phi-4: families/phi3.family has their keys, modules and calls.
 */
#include "model/family/family_list.h"

static const ms_family_facts facts = {
    .blocks = MS_BLOCK_DROPOUTS | MS_BLOCK_TWO_NORMS | MS_BLOCK_JOINED | MS_BLOCK_OTHER_ROTARY,
    .compared = MS_WITH_BROADCAST | MS_WITH_CHUNKED_LOSS,
    .peft = {.usual_lora = "qkv_proj"},
    .liger = {.kernels = MS_LIGER_ALL,
              .norms = MS_LIGER_IS_LAYER | MS_LIGER_IS_LAST,
              .logits_share = 1},
    .llama_cpp = "phi3",
    .vllm = &(const ms_vllm_arch){.norms = 2, .mlp_rows = 3, .tie = MS_VLLM_TIE_DROPS},
    .has_code_of_its_own = true,
};

const ms_family ms_family_phi3 = {.model_type = "phi3",
                                  .facts = &facts,
                                  .classes = {{"Phi3ForCausalLM", MS_HEAD_CAUSAL_LM}},
                                  .takes_cache = true,
                                  .text_name = "phi3"};
