/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Gated delta nets: linear attention over chunks of the sequence, as transformers' fallback without
 * kernel libraries.
 */
#ifndef MS_MODEL_RECURRENT_DELTA_H
#define MS_MODEL_RECURRENT_DELTA_H

#include "model/decoder/decoder.h"

/* Projections of the hidden state. */
typedef enum ms_delta_form {
    MS_DELTA_BY_HEADS, /* two products, with parts interleaved by head */
    MS_DELTA_BY_PARTS  /* four products, one per part */
} ms_delta_form;

/* Heads and their widths; `repeats`: value heads per key head. */
typedef struct ms_delta_dims {
    ms_dim key_heads, value_heads, repeats, key_dim, value_dim;
} ms_delta_dims;

/* Inputs of the rule (delta_rule.c): query and key [B, S, K, Dk], value [B, S, V, Dv], decay and
 * beta [B, S, V]; its result is [B, S, V, Dv]. They are locals of the caller. */
typedef struct ms_delta_inputs {
    ms_tensor query, key, value, decay, beta;
} ms_delta_inputs;

#endif
