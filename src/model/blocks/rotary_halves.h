/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Rotary embeddings whose tables have half a head's width: both halves of a head are turned by
 * them.
 */
#ifndef MS_MODEL_BLOCKS_ROTARY_HALVES_H
#define MS_MODEL_BLOCKS_ROTARY_HALVES_H

#include "model/blocks/model.h"

/* As ms_rotary_call. */
void ms_rotary_half_tables(ms_model *model, uint32_t scope, ms_tensor inv_freq,
                           ms_tensor position_ids, ms_dtype dtype, ms_tensor out[2]);
/* An ms_rotary_fn. */
void ms_rotary_halves(ms_model *model, ms_tensor q, ms_tensor k, ms_tensor cos, ms_tensor sin,
                      ms_tensor out[2]);

#endif
