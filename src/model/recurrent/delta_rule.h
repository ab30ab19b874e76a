/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The gated delta rule by chunks, in fp32: first the computation within chunks, for all chunks at
 * once; then a loop over chunks, which carries a state.
 */
#ifndef MS_MODEL_RECURRENT_DELTA_RULE_H
#define MS_MODEL_RECURRENT_DELTA_RULE_H

#include "model/blocks/model.h"

/* Query and key [B, S, K, Dk], value [B, S, V, Dv], decay and beta [B, S, V], where V is a multiple
 * of K; the result is [B, S, V, Dv]. They are locals of the caller. */
typedef struct ms_delta_inputs {
    ms_tensor query, key, value, decay, beta;
} ms_delta_inputs;

ms_tensor ms_delta_rule(ms_model *model, const ms_delta_inputs *inputs);

#endif
