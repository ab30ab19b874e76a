/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Positions and the rotary embedding.
 */
#ifndef MS_MODEL_BLOCKS_ROTARY_H
#define MS_MODEL_BLOCKS_ROTARY_H

#include "autograd/engine.h"
#include "model/blocks/model.h"

/* arange(S) + 0, as [1, S] */
ms_tensor ms_position_ids(ms_model *model);
/* Chooses among the original inverse frequencies and those of long sequences, which the first call
 * makes, by the last position. */
void ms_rotary_choose(ms_model *model, uint32_t scope, ms_tensor original,
                      ms_tensor *long_inv_freq);

/* Within a rotary embedding's module, without gradients: the angle of each position at each of the
 * frequencies, in fp32. */
typedef struct ms_rotary_module {
    ms_locals frame;
    ms_tensor *angles; /* a local of the frame */
    uint32_t outer_scope;
    bool outer_grad;
} ms_rotary_module;
void ms_rotary_enter(ms_model *model, uint32_t scope, ms_tensor inv_freq, ms_tensor position_ids,
                     ms_rotary_module *rotary);
/* Once the frame has ended. */
void ms_rotary_leave(ms_model *model, const ms_rotary_module *rotary);
/* cos and sin of the positions, in the dtype of the hidden states: out[0], out[1]. */
void ms_rotary_call(ms_model *model, uint32_t scope, ms_tensor inv_freq, ms_tensor position_ids,
                    ms_dtype dtype, ms_tensor out[2]);
/* The same of positions in three grids: time, height and width, which text has alike. */
void ms_rotary_of_grids(ms_model *model, uint32_t scope, ms_tensor inv_freq, ms_tensor position_ids,
                        ms_dtype dtype, ms_tensor out[2]);
/* apply_rotary_pos_emb of query and key, the caller's locals: out[0], out[1]. */
typedef void (*ms_rotary_fn)(ms_model *model, ms_tensor q, ms_tensor k, ms_tensor cos,
                             ms_tensor sin, ms_tensor out[2]);
/* Whole heads, by halves. */
void ms_rotary_whole(ms_model *model, ms_tensor q, ms_tensor k, ms_tensor cos, ms_tensor sin,
                     ms_tensor out[2]);
/* The same in fp32, and back to the dtypes of query and key. */
void ms_rotary_whole_cast(ms_model *model, ms_tensor q, ms_tensor k, ms_tensor cos, ms_tensor sin,
                          ms_tensor out[2]);
/* Whole heads, by neighbours, in fp32. */
void ms_rotary_pairs_fp32(ms_model *model, ms_tensor q, ms_tensor k, ms_tensor cos, ms_tensor sin,
                          ms_tensor out[2]);
/* The same of tables that are repeated for each call, casts after the heads are rotated. */
void ms_rotary_repeated_pairs_fp32(ms_model *model, ms_tensor q, ms_tensor k, ms_tensor cos,
                                   ms_tensor sin, ms_tensor out[2]);
/* The first part of each head, by halves, as a caller writes it whose locals the parts become. */
void ms_rotary_around(ms_model *model, ms_locals *f, ms_tensor *query, ms_tensor *key,
                      ms_tensor cos, ms_tensor sin);
/* The first part of each head, by halves; the rest is joined when both are rotated, or at once. */
void ms_rotary_part(ms_model *model, ms_tensor q, ms_tensor k, ms_tensor cos, ms_tensor sin,
                    ms_tensor out[2]);
void ms_rotary_part_at_once(ms_model *model, ms_tensor q, ms_tensor k, ms_tensor cos, ms_tensor sin,
                            ms_tensor out[2]);
/* The first part of each head, by neighbours. */
void ms_rotary_pairs(ms_model *model, ms_tensor q, ms_tensor k, ms_tensor cos, ms_tensor sin,
                     ms_tensor out[2]);
/* Ends a function that returns two tensors, its locals. */
void ms_return_both(ms_locals *f, ms_tensor first, ms_tensor second, ms_tensor out[2]);

#endif
