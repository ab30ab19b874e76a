/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Qwen2: queries, keys and values have biases, which no key says.
 */
#define MS_QWEN2_KEYS
#include "model/decoder.h"
#include "model/families.h"
#include "model/family_keys.h"

static bool build(ms_model *model)
{
    return ms_decoder_build(model, (ms_decoder_style){.qkv_bias = true, .mask_arguments = true});
}

static const ms_model_program program = {build, ms_decoder_forward};

const ms_family ms_family_qwen2 = {.model_type = "qwen2",
                                   .class_name = "Qwen2ForCausalLM",
                                   .keys = qwen2_keys,
                                   .key_count = sizeof qwen2_keys / sizeof *qwen2_keys,
                                   .program = &program};
