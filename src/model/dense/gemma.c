/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Gemma: families/gemma.family has its keys, modules and calls; what its successors share is here.
 */
#include "model/dense/gemma.h"

#include "input/config/model/model_config.h"
#include "model/family/family_list.h"

ms_decoder_style ms_gemma_style(const ms_model_config *config)
{
    return (ms_decoder_style){.norm = ms_centered_rms_norm_call,
                              .qkv_bias = config->attention_bias,
                              .output_bias = config->attention_bias,
                              .scaled_embedding = true};
}
