/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The gated delta rule by chunks, in fp32: first the computation within chunks, for all chunks at
 * once; then a loop over chunks, which carries a state.
 */
#ifndef MS_MODEL_RECURRENT_DELTA_RULE_H
#define MS_MODEL_RECURRENT_DELTA_RULE_H

#include "model/recurrent/delta.h"

ms_tensor ms_delta_rule(ms_model *model, const ms_delta_dims *dims, const ms_delta_inputs *inputs);

#endif
