/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * GLM, and GLM-4 of 2025: families/glm.family and glm4.family have their keys, modules and calls.
 */
#include "model/family/family_list.h"

static const ms_family_facts glm_facts = {
    .blocks = MS_BLOCK_PROJECTIONS | MS_BLOCK_TWO_NORMS | MS_BLOCK_JOINED | MS_BLOCK_OTHER_ROTARY,
    .compared = MS_WITH_CHUNKED_LOSS,

};

const ms_family ms_family_glm = {.model_type = "glm",
                                 .facts = &glm_facts,
                                 .classes = {{"GlmForCausalLM", MS_HEAD_CAUSAL_LM}},
                                 .takes_cache = true,
                                 .text_name = "glm"};

static const ms_family_facts glm4_facts = {
    .blocks = MS_BLOCK_PROJECTIONS | MS_BLOCK_TWO_NORMS | MS_BLOCK_MORE_NORMS | MS_BLOCK_JOINED |
              MS_BLOCK_OTHER_ROTARY,
    .compared = MS_WITH_CHUNKED_LOSS,
    .liger = {.kernels = MS_LIGER_RMS_NORM | MS_LIGER_SWIGLU | MS_LIGER_LOSS,
              .norms = MS_LIGER_IS_LAYER | MS_LIGER_IS_LAST,
              .copying_norms = MS_LIGER_IS_LAYER | MS_LIGER_IS_LAST,
              .logits_share = 1},
};

const ms_family ms_family_glm4 = {.model_type = "glm4",
                                  .facts = &glm4_facts,
                                  .classes = {{"Glm4ForCausalLM", MS_HEAD_CAUSAL_LM}},
                                  .takes_cache = true,
                                  .text_name = "glm4"};
