/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Functions of PyTorch that make tensors of sizes, and what memscope knows of the pass that runs.
 */
#include "model/blocks/cache.h"
#include "model/evaluator/evaluate.h"
#include "torch/ops/moe/routing.h"
#include "torch/ops/ops.h"

/* ---- of sizes ---- */

/* Sizes: a list, or one number. */
static bool take_shape(ms_frame *f, const ms_text_node *call, ms_value value, ms_shape *shape)
{
    const uint32_t count = value.kind == MS_VALUE_LIST ? value.items->count : 1;
    bool are_sizes = count <= MS_MAX_RANK;
    *shape = (ms_shape){.rank = count};
    for (uint32_t i = 0; i < count && are_sizes; i++) {
        const ms_value size = value.kind == MS_VALUE_LIST ? value.items->values[i] : value;
        are_sizes = size.kind == MS_VALUE_NUMBER && size.number >= 1;
        shape->dims[i] = ms_size_of_value(f, size);
    }
    if (!are_sizes)
        ms_frame_fail(f, call, "up to %d sizes are wanted here", MS_MAX_RANK);
    return are_sizes;
}

static ms_dtype type_of(ms_value value, ms_dtype otherwise)
{
    return value.kind == MS_VALUE_TYPE ? (ms_dtype)value.number : otherwise;
}

MS_OPERATION(apply_empty)
{
    ms_shape shape;
    if (!take_shape(f, call, a[0], &shape))
        return (ms_value){0};
    return ms_value_of_tensor(ms_empty(f->model->tape, shape, type_of(a[1], MS_DTYPE_F32)));
}

MS_OPERATION(apply_full)
{
    const ms_value sizes[] = {a[0], a[2]};
    return apply_empty(f, call, sizes);
}

MS_OPERATION(apply_zeros_like)
{
    if (a[0].kind != MS_VALUE_TENSOR)
        return ms_frame_failed(f, call, "a tensor is wanted here");
    return ms_value_of_tensor(ms_zeros_like(f->model->tape, a[0].tensor));
}

MS_OPERATION(apply_arange)
{
    const ms_value end = a[1].kind == MS_VALUE_NUMBER ? a[1] : a[0];
    const double first = a[1].kind == MS_VALUE_NUMBER ? a[0].number : 0;
    if (a[0].kind != MS_VALUE_NUMBER || end.number <= first || end.number > 1e15)
        return ms_frame_failed(f, call, "a number of elements is wanted here");
    ms_value count = first > 0 || first < 0 ? ms_value_of_number(end.number - first) : end;
    return ms_value_of_tensor(ms_empty(f->model->tape, MS_SHAPE(ms_size_of_value(f, count)),
                                       type_of(a[2], MS_DTYPE_I64)));
}

/* ---- the pass ---- */

MS_OPERATION(apply_given_positions)
{
    (void)call, (void)a;
    return ms_value_of_tensor(f->model->position_ids);
}

MS_OPERATION(apply_seen_tokens)
{
    (void)call, (void)a;
    return ms_value_of_dim(ms_cache_seen(f->model));
}

static const ms_primitive creations[] = {
    MS_OPERATION_ROW("empty", "*sizes dtype device", "v|vv", apply_empty),
    MS_OPERATION_ROW("ones", "*sizes dtype device", "v|vv", apply_empty),
    MS_OPERATION_ROW("zeros", "*sizes dtype device", "v|vv", apply_empty),
    MS_OPERATION_ROW("full", "size fill_value dtype device", "vv|vv", apply_full),
    MS_OPERATION_ROW("zeros_like", "x", "v", apply_zeros_like),
    MS_OPERATION_ROW("arange", "start end dtype device", "v|vvv", apply_arange),
    MS_OPERATION_ROW("given_positions", "", "", apply_given_positions),
    MS_OPERATION_ROW("seen_tokens", "", "", apply_seen_tokens),
};

const ms_primitive *ms_creation_at(uint32_t i)
{
    const uint32_t count = sizeof creations / sizeof *creations;
    return i < count ? &creations[i] : ms_builtin_at(i - count);
}
