/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Qwen2-VL and Qwen2.5-VL: families/qwen2_vl.family and families/qwen2_5_vl.family have their keys,
 * modules and calls.
 */
#include "input/config/model/model_config.h"
#include "model/family/family_keys.h"
#include "model/family/family_list.h"
#include "model/vision/qwen/image.h"

/* "mlp_ratio" times the blocks' width. */
static ms_status derive(ms_model_config *config, ms_error *err)
{
    (void)err;
    config->vision.intermediate_size = config->vision.hidden_size * config->vision.mlp_ratio;
    return MS_OK;
}

static const ms_family_facts qwen2_vl_facts = {
    .compared = MS_WITH_ZERO3,
};

const ms_family ms_family_qwen2_vl = {
    .model_type = "qwen2_vl",
    .facts = &qwen2_vl_facts,
    .classes = {{"Qwen2VLForConditionalGeneration", MS_HEAD_CAUSAL_LM}},
    .may_be_flat = true,
    .derive = derive,
    .check = ms_check_heads_divide,
    .place_image = ms_qwen2_place_image,
    .text_name = "qwen2_vl"};

static const ms_family_facts qwen2_5_vl_facts = {
    .compared = MS_WITH_ZERO3,
};

const ms_family ms_family_qwen2_5_vl = {
    .model_type = "qwen2_5_vl",
    .facts = &qwen2_5_vl_facts,
    .classes = {{"Qwen2_5_VLForConditionalGeneration", MS_HEAD_CAUSAL_LM}},
    .may_be_flat = true,
    .check = ms_check_heads_divide,
    .place_image = ms_qwen2_5_place_image,
    .text_name = "qwen2_5_vl"};
