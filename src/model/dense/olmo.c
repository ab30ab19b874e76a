/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * OLMo 2, OLMo 3 and OLMoE: families/olmo2.family and those beside it have their keys, modules and
 * calls.
 */
#include "model/family/family_list.h"
#include "model/family/family_keys.h"

static ms_status check_moe(const ms_model_config *config, ms_error *err)
{
    if (config->clips_projections) {
        snprintf(err->pointer, sizeof err->pointer, "/clip_qkv");
        return ms_fail(err, MS_ERR_CONFIG, "clipped queries, keys and values are not supported");
    }
    ms_status status = ms_check_heads_divide(config, err);
    return status == MS_OK ? ms_check_experts(config, err) : status;
}

static const ms_family_facts olmo2_facts = {
    .blocks =
        MS_BLOCK_PROJECTIONS | MS_BLOCK_WHOLE_NORMS | MS_BLOCK_MORE_NORMS | MS_BLOCK_GATED_MLP,
    .compared = MS_WITH_ZERO3 | MS_WITH_CHUNKED_LOSS,
    .casts_arguments = true,
    .liger = {.kernels = MS_LIGER_ALL,
              .norms = MS_LIGER_IS_LAYER | MS_LIGER_IS_LAST,
              .copying_norms = MS_LIGER_IS_LAYER,
              .logits_share = 1},
};

const ms_family ms_family_olmo2 = {.model_type = "olmo2",
                                   .facts = &olmo2_facts,
                                   .classes = {{"Olmo2ForCausalLM", MS_HEAD_CAUSAL_LM}},
                                   .check = ms_check_heads_divide,
                                   .takes_cache = true,
                                   .text_name = "olmo2"};

static const ms_family_facts olmo3_facts = {
    .compared = MS_WITH_TITAN_UNITS | MS_WITH_ZERO3 | MS_WITH_CONTEXT | MS_WITH_CHUNKED_LOSS,
    .casts_arguments = true,
    .liger = {.kernels = MS_LIGER_ALL,
              .norms = MS_LIGER_IS_LAYER | MS_LIGER_IS_LAST,
              .copying_norms = MS_LIGER_IS_LAYER,
              .logits_share = 1},
};

const ms_family ms_family_olmo3 = {
    .model_type = "olmo3",
    .facts = &olmo3_facts,
    .classes = {{"Olmo3ForCausalLM", MS_HEAD_CAUSAL_LM},
                {"Olmo3ForSequenceClassification", MS_HEAD_LAST_TOKEN}},
    .check = ms_check_heads_divide,
    .takes_cache = true,
    .text_name = "olmo3"};

static const ms_family_facts olmoe_facts = {
    .compared = MS_WITH_ZERO3 | MS_WITH_ZERO3_EXPERTS | MS_WITH_CHUNKED_LOSS,
    .peft = {.exchanged = ms_experts_of_qwen2_moe},
};

const ms_family ms_family_olmoe = {.model_type = "olmoe",
                                   .facts = &olmoe_facts,
                                   .classes = {{"OlmoeForCausalLM", MS_HEAD_CAUSAL_LM}},
                                   .check = check_moe,
                                   .takes_cache = true,
                                   .text_name = "olmoe"};
