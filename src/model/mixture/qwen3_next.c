/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Qwen3-Next and Qwen3.5: families/qwen3_next.family and families/qwen3_5*.family have their keys,
 * modules and calls.
 */
#include "model/family/family_list.h"
#include "model/family/family_keys.h"
#include "model/vision/qwen/qwen3_tower.h"

/* clang-format off */
static const ms_key whole_keys[] = {BOOL("tie_word_embeddings", tie_word_embeddings, false)};
static const ms_key vision_keys[] = { QWEN_VISION_KEYS };
/* clang-format on */

static ms_status check(const ms_model_config *config, ms_error *err)
{
    if (config->linear_value_heads % config->linear_key_heads == 0)
        return ms_check_experts(config, err);
    snprintf(err->pointer, sizeof err->pointer, "/linear_num_value_heads");
    return ms_fail(err, MS_ERR_CONFIG,
                   "%" PRIu64 " value heads are not a multiple of %" PRIu64 " key heads",
                   config->linear_value_heads, config->linear_key_heads);
}

static const ms_family_facts qwen3_next_facts = {
    .compared = MS_WITH_CHUNKED_LOSS,
    .has_head_norms = true,
    .peft = {.exchanged = ms_experts_of_qwen2_moe},
};

const ms_family ms_family_qwen3_next = {.model_type = "qwen3_next",
                                        .facts = &qwen3_next_facts,
                                        .classes = {{"Qwen3NextForCausalLM", MS_HEAD_CAUSAL_LM}},
                                        .check = check,
                                        .unpredicted = MS_UNPREDICTED_PADDING,
                                        .text_name = "qwen3_next"};

static const ms_family_facts qwen3_5_text_facts = {
    .compared = MS_WITH_CHUNKED_LOSS,
    .has_head_norms = true,
};

const ms_family ms_family_qwen3_5_text = {.model_type = "qwen3_5_text",
                                          .facts = &qwen3_5_text_facts,
                                          .classes = {{"Qwen3_5ForCausalLM", MS_HEAD_CAUSAL_LM}},
                                          .check = check,
                                          .unpredicted = MS_UNPREDICTED_PADDING,
                                          .text_name = "qwen3_5_text"};

static const ms_family_facts qwen3_5_moe_text_facts = {
    .compared = MS_WITH_CHUNKED_LOSS,
    .has_head_norms = true,
};

const ms_family ms_family_qwen3_5_moe_text = {
    .model_type = "qwen3_5_moe_text",
    .facts = &qwen3_5_moe_text_facts,
    .classes = {{"Qwen3_5MoeForCausalLM", MS_HEAD_CAUSAL_LM}},
    .check = check,
    .unpredicted = MS_UNPREDICTED_PADDING,
    .text_name = "qwen3_5_moe_text"};

/* ---- with a vision tower, which text alone does not run ---- */

static const ms_key_table more[] = {
    {NULL, NULL, whole_keys, sizeof whole_keys / sizeof *whole_keys},
    {"vision_config", NULL, vision_keys, sizeof vision_keys / sizeof *vision_keys},
};

static const ms_family_facts qwen3_5_facts = {
    .has_head_norms = true,
};

const ms_family ms_family_qwen3_5 = {
    .model_type = "qwen3_5",
    .facts = &qwen3_5_facts,
    .classes = {{"Qwen3_5ForConditionalGeneration", MS_HEAD_CAUSAL_LM}},
    .object = "text_config",
    .object_type = "qwen3_5_text",
    .more = more,
    .more_count = sizeof more / sizeof *more,
    .check = check,
    .unpredicted = MS_UNPREDICTED_PADDING,
    .build_tower = ms_qwen_vision_new,
    .text_name = "qwen3_5"};

static const ms_family_facts qwen3_5_moe_facts = {
    .has_head_norms = true,
};

const ms_family ms_family_qwen3_5_moe = {
    .model_type = "qwen3_5_moe",
    .facts = &qwen3_5_moe_facts,
    .classes = {{"Qwen3_5MoeForConditionalGeneration", MS_HEAD_CAUSAL_LM}},
    .object = "text_config",
    .object_type = "qwen3_5_moe_text",
    .more = more,
    .more_count = sizeof more / sizeof *more,
    .check = check,
    .unpredicted = MS_UNPREDICTED_PADDING,
    .build_tower = ms_qwen_vision_new,
    .text_name = "qwen3_5_moe"};
