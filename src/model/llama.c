/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Llama: the plain decoder; biases only where the file asks for them.
 */
#define MS_LLAMA_KEYS
#include "model/decoder.h"
#include "model/families.h"
#include "model/family_keys.h"

static bool build(ms_model *model)
{
    return ms_decoder_build(model, (ms_decoder_style){.qkv_bias = model->config->attention_bias,
                                                      .output_bias = model->config->attention_bias,
                                                      .mlp_bias = model->config->mlp_bias});
}

static const ms_model_program program = {build, ms_decoder_forward};

const ms_family ms_family_llama = {.model_type = "llama",
                                   .class_name = "LlamaForCausalLM",
                                   .keys = llama_keys,
                                   .key_count = sizeof llama_keys / sizeof *llama_keys,
                                   .check = check_heads_divide,
                                   .program = &program};
