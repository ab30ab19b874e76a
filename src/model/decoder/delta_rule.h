/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The gated delta rule, chunk by chunk, in fp32: first what a chunk needs of itself alone, for all
 * chunks at once; then one chunk after the other, which hand on a state.
 */
#ifndef MS_MODEL_DECODER_DELTA_RULE_H
#define MS_MODEL_DECODER_DELTA_RULE_H

#include "model/decoder/delta.h"

ms_tensor ms_delta_rule(ms_model *model, const ms_delta_dims *dims, const ms_delta_inputs *inputs);

#endif
