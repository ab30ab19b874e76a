/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Position ids and rotary embeddings.
 */
#ifndef MS_MODEL_BLOCKS_ROTARY_H
#define MS_MODEL_BLOCKS_ROTARY_H

#include "torch/autograd/engine.h"
#include "model/blocks/model.h"

/* arange(S) + 0, as [1, S] */
ms_tensor ms_position_ids(ms_model *model);
/* Selects, by the last position, the original inverse frequencies or those for long sequences,
 * which the first call creates. */
void ms_rotary_choose(ms_model *model, uint32_t scope, ms_tensor original,
                      ms_tensor *long_inv_freq);

/* State inside a rotary embedding's module, without gradients: the angles of positions and
 * frequencies, in fp32. */
typedef struct ms_rotary_module {
    ms_locals frame;
    ms_tensor *angles; /* a local of the frame */
    uint32_t outer_scope;
    bool outer_grad;
} ms_rotary_module;
void ms_rotary_enter(ms_model *model, uint32_t scope, ms_tensor inv_freq, ms_tensor position_ids,
                     ms_rotary_module *rotary);
/* Call it after the frame has ended. */
void ms_rotary_leave(ms_model *model, const ms_rotary_module *rotary);
/* cos and sin of the positions, in the dtype of the hidden states: out[0], out[1]. */
void ms_rotary_call(ms_model *model, uint32_t scope, ms_tensor inv_freq, ms_tensor position_ids,
                    ms_dtype dtype, ms_tensor out[2]);
/* The positions' turns as complex numbers, [1, S, D / 2]. */
ms_tensor ms_rotary_turns(ms_model *model, uint32_t scope, ms_tensor inv_freq,
                          ms_tensor position_ids);
/* cos and sin for positions in three grids (time, height, width), which are equal for text. */
void ms_rotary_of_grids(ms_model *model, uint32_t scope, ms_tensor inv_freq, ms_tensor position_ids,
                        ms_dtype dtype, ms_tensor out[2]);
/* The same where sections of the grids are joined. */
void ms_rotary_of_sections(ms_model *model, uint32_t scope, ms_tensor inv_freq,
                           ms_tensor position_ids, ms_dtype dtype, ms_tensor out[2]);
/* apply_rotary_pos_emb of query and key, which are locals of the caller: out[0], out[1]. */
typedef void (*ms_rotary_fn)(ms_model *model, ms_tensor q, ms_tensor k, ms_tensor cos,
                             ms_tensor sin, ms_tensor out[2]);
/* Rotates whole heads, by halves. */
void ms_rotary_whole(ms_model *model, ms_tensor q, ms_tensor k, ms_tensor cos, ms_tensor sin,
                     ms_tensor out[2]);
/* The same in fp32, cast back to the dtypes of query and key. */
void ms_rotary_whole_cast(ms_model *model, ms_tensor q, ms_tensor k, ms_tensor cos, ms_tensor sin,
                          ms_tensor out[2]);
/* The same where query and key are themselves made fp32, once for each product. */
void ms_rotary_whole_wide(ms_model *model, ms_tensor q, ms_tensor k, ms_tensor cos, ms_tensor sin,
                          ms_tensor out[2]);
/* Rotates whole heads, by neighbouring elements, in fp32. */
void ms_rotary_pairs_fp32(ms_model *model, ms_tensor q, ms_tensor k, ms_tensor cos, ms_tensor sin,
                          ms_tensor out[2]);
/* The same with tables repeated in each call, and casts after both are rotated. */
void ms_rotary_repeated_pairs_fp32(ms_model *model, ms_tensor q, ms_tensor k, ms_tensor cos,
                                   ms_tensor sin, ms_tensor out[2]);
/* Rotates the first part of each head, by halves, inline in the caller: the parts become locals of
 * `f`. */
void ms_rotary_around(ms_model *model, ms_locals *f, ms_tensor *query, ms_tensor *key,
                      ms_tensor cos, ms_tensor sin);
/* Rotate the first part of each head, by halves; concatenated with the rest after both are rotated,
 * or each at once. */
void ms_rotary_part(ms_model *model, ms_tensor q, ms_tensor k, ms_tensor cos, ms_tensor sin,
                    ms_tensor out[2]);
void ms_rotary_part_at_once(ms_model *model, ms_tensor q, ms_tensor k, ms_tensor cos, ms_tensor sin,
                            ms_tensor out[2]);
/* Rotates the first part of each head, by neighbouring elements. */
void ms_rotary_pairs(ms_model *model, ms_tensor q, ms_tensor k, ms_tensor cos, ms_tensor sin,
                     ms_tensor out[2]);
/* Ends the frame of a function that returns two locals. */
void ms_return_both(ms_locals *f, ms_tensor first, ms_tensor second, ms_tensor out[2]);

#endif
