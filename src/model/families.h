/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MS_MODEL_FAMILIES_H
#define MS_MODEL_FAMILIES_H

#include "config/model_config.h"

extern const ms_family ms_family_llama, ms_family_mistral, ms_family_qwen2, ms_family_qwen3,
    ms_family_gpt2, ms_family_gemma, ms_family_gemma2, ms_family_gemma3_text, ms_family_gemma3;

#endif
