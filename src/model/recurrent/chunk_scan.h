/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Mamba 2's scan, in which heads have a state each: over chunks of the sequence, and for one token
 * after others.
 */
#ifndef MS_MODEL_RECURRENT_CHUNK_SCAN_H
#define MS_MODEL_RECURRENT_CHUNK_SCAN_H

#include "model/blocks/model.h"

/* Hidden [B, S, heads, width], step [B, S, heads], decay [heads], key and query [B, S, groups, N];
 * `direct` and `step_bias` are parameters, [heads]. */
typedef struct ms_scan_inputs {
    ms_tensor hidden, step, decay, key, query, direct, step_bias;
} ms_scan_inputs;

/* [B, S, heads, width] in fp32. *last: the state at the end, [B, heads, width, N], retained; 0
 * without a cache, where it goes with the other locals. */
ms_tensor ms_chunk_scan(ms_model *model, const ms_scan_inputs *in, uint64_t chunk, ms_tensor *last);

/* mamba2_selective_state_update() of one token: hidden [B, heads, width], step [B, heads], key and
 * query [B, groups, N]; `state` is the cache's, [B, heads, width, N] in fp32. The result is as
 * hidden. */
ms_tensor ms_chunk_update(ms_model *model, const ms_scan_inputs *in, ms_tensor state);

#endif
