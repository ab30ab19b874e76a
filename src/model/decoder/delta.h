/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Gated delta nets: linear attention over chunks of the sequence, as the framework writes it where
 * no library of kernels is installed.
 */
#ifndef MS_MODEL_DECODER_DELTA_H
#define MS_MODEL_DECODER_DELTA_H

#include "model/decoder/decoder.h"

/* How a family projects the hidden state. */
typedef enum ms_delta_form {
    MS_DELTA_BY_HEADS, /* two products, whose parts stand head by head */
    MS_DELTA_BY_PARTS  /* four products */
} ms_delta_form;

/* The widths of its heads; `repeats`: value heads to a key head. */
typedef struct ms_delta_dims {
    ms_dim key_heads, value_heads, repeats, key_dim, value_dim;
} ms_delta_dims;

/* The rule itself (delta_rule.c): query and key [B, S, K, Dk], value [B, S, V, Dv], decay and beta
 * [B, S, V]; yields [B, S, V, Dv]. The arguments are the caller's locals. */
typedef struct ms_delta_inputs {
    ms_tensor query, key, value, decay, beta;
} ms_delta_inputs;

#endif
