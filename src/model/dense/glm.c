/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * GLM, and GLM-4 of 2025: families/glm.family and glm4.family have their keys, modules and calls.
 */
#include "model/family/family_list.h"

const ms_family ms_family_glm = {.model_type = "glm",
                                 .classes = {{"GlmForCausalLM", MS_HEAD_CAUSAL_LM}},
                                 .takes_cache = true,
                                 .text_name = "glm"};

const ms_family ms_family_glm4 = {.model_type = "glm4",
                                  .classes = {{"Glm4ForCausalLM", MS_HEAD_CAUSAL_LM}},
                                  .takes_cache = true,
                                  .text_name = "glm4"};
