/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * cuDNN's attention, as scaled_dot_product_attention calls it. Its requests were measured on an
 * H200 (torch 2.11, cuDNN 9.19): tests/unit/ops/test_cudnn.c has rows of it.
 */
#ifndef MS_TORCH_OPS_ATTENTION_SDPA_H
#define MS_TORCH_OPS_ATTENTION_SDPA_H

#include "torch/ops/attention/attention.h"

/* ---- cudnn ---- */

/* cuDNN's attention, as scaled_dot_product_attention calls it. Its requests were measured on an
 * H200 (torch 2.11, cuDNN 9.19): tests/unit/ops/test_cudnn.c has rows of it. */

/* Over [B, H, S, D]; keys and values may have fewer heads. Borrows its arguments. */
ms_tensor ms_cudnn_attention(ms_tape *tape, ms_tensor q, ms_tensor k, ms_tensor v,
                             ms_attention_call_args c);

#endif
