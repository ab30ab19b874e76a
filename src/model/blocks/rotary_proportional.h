/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Inverse frequencies of two kinds of layers, where the heads of one turn by a share of their
 * width.
 */
#ifndef MS_MODEL_BLOCKS_ROTARY_PROPORTIONAL_H
#define MS_MODEL_BLOCKS_ROTARY_PROPORTIONAL_H

#include "model/blocks/model.h"

/* Builds the module "rotary_emb" with the buffers of the kinds that are there, of so many
 * frequencies each; of the first kind, `turned` are not 0. out: those that are used, then their
 * copies. Returns the module's scope. */
uint32_t ms_rotary_of_two_new(ms_model *model, uint32_t parent, const bool there[2],
                              const ms_dim counts[2], uint64_t turned, ms_tensor out[4]);

#endif
