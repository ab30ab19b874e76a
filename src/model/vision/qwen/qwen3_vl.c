/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Qwen3-VL with or without experts: families/qwen3_vl.family and families/qwen3_vl_moe.family have
 * their keys, modules and calls.
 */
#include "model/family/family_keys.h"
#include "model/family/family_list.h"
#include "model/vision/qwen/image.h"

static const ms_family_facts qwen3_vl_facts = {
    .has_head_norms = true,
};

const ms_family ms_family_qwen3_vl = {
    .model_type = "qwen3_vl",
    .facts = &qwen3_vl_facts,
    .classes = {{"Qwen3VLForConditionalGeneration", MS_HEAD_CAUSAL_LM}},
    .place_image = ms_qwen3_place_image,
    .unpredicted = MS_UNPREDICTED_IMAGES_ON_RANKS,
    .text_name = "qwen3_vl"};

static const ms_family_facts qwen3_vl_moe_facts = {
    .compared = MS_WITH_ZERO3 | MS_WITH_ZERO3_EXPERTS,
    .has_head_norms = true,
};

const ms_family ms_family_qwen3_vl_moe = {
    .model_type = "qwen3_vl_moe",
    .facts = &qwen3_vl_moe_facts,
    .classes = {{"Qwen3VLMoeForConditionalGeneration", MS_HEAD_CAUSAL_LM}},
    .check = ms_check_experts,
    .place_image = ms_qwen3_place_image,
    .unpredicted = MS_UNPREDICTED_IMAGES_ON_RANKS,
    .text_name = "qwen3_vl_moe"};
