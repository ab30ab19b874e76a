/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Mistral: the plain decoder without biases.
 */
#define MS_MISTRAL_KEYS
#include "model/decoder.h"
#include "model/families.h"
#include "model/family_keys.h"

static bool build(ms_model *model)
{
    return ms_decoder_build(model, (ms_decoder_style){.position_ids_first = true});
}

static const ms_model_program program = {build, ms_decoder_forward};

const ms_family ms_family_mistral = {.model_type = "mistral",
                                     .class_name = "MistralForCausalLM",
                                     .keys = mistral_keys,
                                     .key_count = sizeof mistral_keys / sizeof *mistral_keys,
                                     .program = &program};
