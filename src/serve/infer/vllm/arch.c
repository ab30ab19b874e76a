/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "serve/infer/vllm/arch.h"

#include "input/config/model/model_config.h"

bool ms_vllm_has_bias(ms_vllm_bias bias, const ms_model_config *config)
{
    return bias == MS_VLLM_BIAS_ALWAYS || (bias == MS_VLLM_BIAS_ASKED && config->attention_bias);
}
