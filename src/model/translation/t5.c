/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * T5: families/t5.family has its keys, modules and calls.
 */
#include "input/config/model/model_config.h"
#include "model/family/family_list.h"

static ms_status derive(ms_model_config *config, ms_error *err)
{
    (void)err;
    config->attention_dropout = config->embedding_dropout = config->residual_dropout;
    config->activation = config->gates_mlp ? MS_ACTIVATION_GELU_NEW : MS_ACTIVATION_RELU;
    return MS_OK;
}

static const ms_family_facts facts = {
    .peft = {.lora = {"q", "v"}, .ia3 = {"k", "v", "wo"}, .ia3_inputs = {"wo"}},
};

const ms_family ms_family_t5 = {
    .model_type = "t5",
    .facts = &facts,
    .classes = {{"T5ForConditionalGeneration", MS_HEAD_TARGET_LM}},
    .derive = derive,
    .has_no_mlp_module = true,
    .always_masks = true,
    .scales_logits = true,
    .unpredicted = MS_UNPREDICTED_DOCUMENTS | MS_UNPREDICTED_HOST_PARAMETERS |
                   MS_UNPREDICTED_PACKED | MS_UNPREDICTED_REENTRANT | MS_UNPREDICTED_F16,
    .text_name = "t5"};
