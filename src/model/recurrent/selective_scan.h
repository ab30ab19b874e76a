/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Mamba's scan, in which each channel has states of its own: over a sequence as a loop over its
 * tokens, and for one token after others.
 */
#ifndef MS_MODEL_RECURRENT_SELECTIVE_SCAN_H
#define MS_MODEL_RECURRENT_SELECTIVE_SCAN_H

#include "model/blocks/model.h"

/* mamba_selective_scan's inputs: hidden, step and gate [B, inner, S], decay [inner, N], key and
 * query [B, S, N], direct and step_bias [inner]. They are locals of the caller, but `direct`. */
typedef struct ms_selective_inputs {
    ms_tensor hidden, step, decay, key, query, direct, gate, step_bias;
} ms_selective_inputs;

/* mamba_selective_scan(): [B, inner, S]. *state: the last state, [B, inner, N], retained;
 * 0 without a cache. */
ms_tensor ms_selective_scan(ms_model *model, const ms_selective_inputs *in, ms_tensor *state);

/* mamba_selective_state_update(): [B, inner], of hidden, step and gate [B, inner] and key and query
 * [B, N]; the others as for the scan. `state` is the cache's, [B, inner, N] in fp32. */
ms_tensor ms_selective_update(ms_model *model, const ms_selective_inputs *in, ms_tensor state);

#endif
