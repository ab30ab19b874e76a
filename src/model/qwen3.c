/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Qwen3: every head's query and key is normalised.
 */
#define MS_QWEN3_KEYS
#include "model/decoder.h"
#include "model/families.h"
#include "model/family_keys.h"

static bool build(ms_model *model)
{
    return ms_decoder_build(model, (ms_decoder_style){.qkv_bias = model->config->attention_bias,
                                                      .output_bias = model->config->attention_bias,
                                                      .head_norms = true,
                                                      .mask_arguments = true});
}

static const ms_model_program program = {build, ms_decoder_forward};

const ms_family ms_family_qwen3 = {.model_type = "qwen3",
                                   .class_name = "Qwen3ForCausalLM",
                                   .keys = qwen3_keys,
                                   .key_count = sizeof qwen3_keys / sizeof *qwen3_keys,
                                   .program = &program};
