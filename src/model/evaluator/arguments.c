/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What functions of values are given.
 */
#include "model/evaluator/evaluate.h"

const ms_text_node *ms_given(const ms_text_node *call, uint32_t i)
{
    return i < call->count && call->items[i] ? call->items[i] : call;
}

const ms_shape *ms_given_shape(ms_frame *f, ms_value value)
{
    return &ms_info(f->model->tape, value.tensor)->shape;
}

/* The first argument, which must be a tensor. */
bool ms_given_tensor(ms_frame *f, const ms_text_node *call, ms_value value)
{
    if (value.kind == MS_VALUE_TENSOR)
        return true;
    ms_frame_fail(f, ms_given(call, 0), "expected a tensor");
    return false;
}

/* A dimension of `rank`, which may be counted from behind. */
bool ms_given_dim(ms_frame *f, const ms_text_node *at, ms_value value, uint32_t rank, uint32_t *dim)
{
    const double number = value.number < 0 ? value.number + rank : value.number;
    if (value.kind == MS_VALUE_NUMBER && number >= 0 && number < rank) {
        *dim = (uint32_t)number;
        return true;
    }
    ms_frame_fail(f, at, "expected a dimension of a tensor that has %u", rank);
    return false;
}

bool ms_given_last(ms_frame *f, const ms_text_node *call, ms_value x, ms_value dim)
{
    const uint32_t rank = ms_given_shape(f, x)->rank;
    uint32_t found;
    if (!ms_given_dim(f, call, dim, rank, &found))
        return false;
    if (found + 1 != rank)
        ms_frame_fail(f, call, "only the last dimension is supported here");
    return found + 1 == rank;
}

bool ms_given_true(ms_value value)
{
    return value.kind == MS_VALUE_NUMBER && (value.number < 0 || value.number > 0);
}
