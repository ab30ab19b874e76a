/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The pre-norm rotary decoder that llama, mistral, qwen2 and qwen3 share.
 */
#ifndef MS_MODEL_DECODER_H
#define MS_MODEL_DECODER_H

#include "model/blocks.h"

typedef struct ms_decoder_style {
    bool qkv_bias, output_bias, mlp_bias;
    bool head_norms;         /* RMS norms over each head's query and key */
    bool position_ids_first; /* among a layer's keyword arguments, before the rotary tables */
    bool
        mask_arguments; /* forward keeps the masks' arguments in a dictionary: a second reference */
} ms_decoder_style;

bool ms_decoder_build(ms_model *model, ms_decoder_style style);
ms_tensor ms_decoder_forward(ms_model *model, ms_tensor ids, ms_tensor labels);

#endif
