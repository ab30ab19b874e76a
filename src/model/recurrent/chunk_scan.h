/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The scan of mamba2 over chunks of the sequence.
 */
#ifndef MS_MODEL_RECURRENT_CHUNK_SCAN_H
#define MS_MODEL_RECURRENT_CHUNK_SCAN_H

#include "model/blocks/blocks.h"

/* Inputs are locals of the caller: hidden [B, S, heads, width], step [B, S, heads], decay [heads],
 * key and query [B, S, groups, N]. `direct` and `step_bias` are parameters, [heads]. The result is
 * [B, S, heads, width] in fp32. *last: the state at the end,
 * [B, heads, width, N], retained; 0 without a cache, where it goes with the other locals. */
typedef struct ms_scan_inputs {
    ms_tensor hidden, step, decay, key, query, direct, step_bias;
} ms_scan_inputs;
ms_tensor ms_chunk_scan(ms_model *model, const ms_scan_inputs *inputs, ms_tensor *last);

/* mamba2_selective_state_update() of one token: hidden [B, heads, width], step [B, heads], key and
 * query [B, groups, N]; `state` is the cache's, [B, heads, width, N] in fp32. The result is as
 * hidden. */
ms_tensor ms_chunk_update(ms_model *model, const ms_scan_inputs *inputs, ms_tensor state);

#endif
