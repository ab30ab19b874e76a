/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Views: other shapes and strides over the same storage. Their backward is a view too, or a copy
 * where the gradient's layout does not allow one; a slice's is a tensor of zeros of the full shape.
 */
#include <string.h>

#include "torch/ops/ops.h"

/* The rule of PyTorch's computeStride: group the old dimensions into runs that are contiguous
 * among themselves, and cut each run into new dimensions. */
bool ms_view_strides(const ms_tensor_info *info, const ms_shape *shape, uint64_t *strides)
{
    if (info->shape.rank == 0)
        return false;
    uint32_t new_dim = shape->rank, old_rank = info->shape.rank;
    uint64_t base_stride = info->strides[old_rank - 1], run_elements = 1, cut_elements = 1;
    for (uint32_t d = old_rank; d-- > 0;) {
        run_elements *= info->shape.dims[d].value;
        bool run_ends = d == 0 || (info->shape.dims[d - 1].value != 1 &&
                                   info->strides[d - 1] != run_elements * base_stride);
        if (!run_ends)
            continue;
        while (new_dim > 0 &&
               (cut_elements < run_elements || shape->dims[new_dim - 1].value == 1)) {
            strides[new_dim - 1] = cut_elements * base_stride;
            cut_elements *= shape->dims[new_dim - 1].value;
            new_dim--;
        }
        if (cut_elements != run_elements)
            return false;
        if (d > 0) {
            base_stride = info->strides[d - 1];
            run_elements = cut_elements = 1;
        }
    }
    return new_dim == 0;
}

ms_tensor ms_reshape_raw(ms_tape *tape, ms_tensor grad, const ms_shape *shape)
{
    if (ms_idle(tape) || !grad)
        return 0;
    uint64_t strides[MS_MAX_RANK];
    if (ms_view_strides(ms_info(tape, grad), shape, strides))
        return ms_alias(tape, grad, *shape, strides);
    return ms_empty(tape, *shape, (ms_dtype)ms_info(tape, grad)->dtype);
}

/* ---- reshape and view ---- */

static void reshape_backward(ms_tape *tape, const ms_node *node, ms_tensor *grads, ms_tensor *out)
{
    out[0] = ms_reshape_raw(tape, grads[0], &ms_input_meta(tape, node, 0)->shape);
}

static const ms_op view_op = {"view", "ViewBackward0", reshape_backward};

static ms_tensor reshape_as(ms_tape *tape, ms_tensor a, ms_shape shape)
{
    if (ms_idle(tape) || !a) {
        ms_consume(tape, a);
        return 0;
    }
    ms_op_mark mark = ms_op_begin(tape, &view_op);
    uint32_t node = ms_record(tape, &view_op, 1, &a);
    ms_tensor out = ms_reshape_raw(tape, a, &shape);
    ms_attach(tape, node, 1, &out);
    ms_op_end(tape, mark);
    ms_consume(tape, a);
    return out;
}

ms_tensor ms_view(ms_tape *tape, ms_tensor a, ms_shape shape)
{
    return reshape_as(tape, a, shape);
}

ms_tensor ms_reshape(ms_tape *tape, ms_tensor a, ms_shape shape)
{
    return reshape_as(tape, a, shape);
}

/* The end of an operator that yields a view of `a`. */
static ms_tensor attached(ms_tape *tape, uint32_t node, ms_tensor a, ms_tensor view)
{
    ms_attach(tape, node, 1, &view);
    ms_consume(tape, a);
    return view;
}

/* ---- transpose ---- */

static ms_tensor transposed(ms_tape *tape, ms_tensor a, uint32_t d0, uint32_t d1)
{
    if (ms_idle(tape) || !a)
        return 0;
    ms_tensor_info info = *ms_info(tape, a);
    ms_dim dim = info.shape.dims[d0];
    uint64_t stride = info.strides[d0];
    info.shape.dims[d0] = info.shape.dims[d1];
    info.shape.dims[d1] = dim;
    info.strides[d0] = info.strides[d1];
    info.strides[d1] = stride;
    return ms_alias(tape, a, info.shape, info.strides);
}

static void transpose_backward(ms_tape *tape, const ms_node *node, ms_tensor *grads, ms_tensor *out)
{
    out[0] = transposed(tape, grads[0], (uint32_t)node->numbers[0], (uint32_t)node->numbers[1]);
}

static const ms_op transpose_op = {"transpose", "TransposeBackward0", transpose_backward};

ms_tensor ms_transpose(ms_tape *tape, ms_tensor a, uint32_t d0, uint32_t d1)
{
    uint32_t node = ms_record(tape, &transpose_op, 1, &a);
    ms_node_numbers(tape, node, 2, (uint64_t[]){d0, d1});
    return attached(tape, node, a, transposed(tape, a, d0, d1));
}

/* ---- contiguous ---- */

static void clone_backward(ms_tape *tape, const ms_node *node, ms_tensor *grads, ms_tensor *out)
{
    (void)tape;
    (void)node;
    out[0] = grads[0];
}

static const ms_op clone_op = {"clone", "CloneBackward0", clone_backward};

ms_tensor ms_contiguous(ms_tape *tape, ms_tensor a)
{
    if (ms_idle(tape) || ms_is_contiguous(ms_info(tape, a)))
        return a;
    return ms_clone(tape, a);
}

ms_tensor ms_contiguous_copy(ms_tape *tape, ms_tensor a)
{
    if (ms_idle(tape))
        return 0;
    const ms_tensor_info info = *ms_info(tape, a);
    return ms_is_contiguous(&info) ? 0 : ms_empty(tape, info.shape, (ms_dtype)info.dtype);
}

ms_tensor ms_clone(ms_tape *tape, ms_tensor a)
{
    if (ms_idle(tape) || !a) {
        ms_consume(tape, a);
        return 0;
    }
    ms_op_mark mark = ms_op_begin(tape, &clone_op);
    uint32_t node = ms_record(tape, &clone_op, 1, &a);
    ms_tensor out = ms_empty(tape, ms_info(tape, a)->shape, (ms_dtype)ms_info(tape, a)->dtype);
    return ms_op_finish(tape, mark, node, 1, &a, out);
}

/* ---- slices ---- */

static void slice_backward(ms_tape *tape, const ms_node *node, ms_tensor *grads, ms_tensor *out)
{
    out[0] = ms_empty(tape, ms_input_meta(tape, node, 0)->shape,
                      (ms_dtype)ms_info(tape, grads[0])->dtype);
}

static const ms_op slice_op = {"slice", "SliceBackward0", slice_backward};

ms_tensor ms_narrow(ms_tape *tape, ms_tensor a, uint32_t dim, ms_dim length)
{
    if (ms_idle(tape) || !a)
        return 0;
    uint32_t node = ms_record(tape, &slice_op, 1, &a);
    ms_tensor_info info = *ms_info(tape, a);
    info.shape.dims[dim] = length;
    return attached(tape, node, a, ms_alias(tape, a, info.shape, info.strides));
}

static const ms_op select_op = {"select", "SelectBackward0", slice_backward};

ms_tensor ms_select(ms_tape *tape, ms_tensor a, uint32_t dim)
{
    if (ms_idle(tape) || !a)
        return 0;
    uint32_t node = ms_record(tape, &select_op, 1, &a);
    ms_tensor_info info = *ms_info(tape, a);
    info.shape.rank--;
    for (uint32_t i = dim; i < info.shape.rank; i++) {
        info.shape.dims[i] = info.shape.dims[i + 1];
        info.strides[i] = info.strides[i + 1];
    }
    return attached(tape, node, a, ms_alias(tape, a, info.shape, info.strides));
}

ms_tensor ms_slice_half(ms_tape *tape, ms_tensor a, bool upper)
{
    (void)upper; /* where the slice begins makes no difference to memory */
    if (ms_idle(tape) || !a)
        return 0;
    uint32_t last = ms_info(tape, a)->shape.rank - 1;
    return ms_narrow(tape, a, last,
                     ms_dim_half(&tape->trace->symbols, ms_info(tape, a)->shape.dims[last]));
}

static const ms_op alias_op = {"alias", "AliasBackward0", clone_backward};

ms_tensor ms_slice_last(ms_tape *tape, ms_tensor a, ms_dim length)
{
    if (ms_idle(tape) || !a)
        return 0;
    ms_tensor_info info = *ms_info(tape, a);
    uint32_t last = info.shape.rank - 1;
    if (info.shape.dims[last].value != length.value)
        return ms_narrow(tape, a, last, length);
    uint32_t node = ms_record(tape, &alias_op, 1, &a);
    return attached(tape, node, a, ms_alias(tape, a, info.shape, info.strides));
}

ms_tensor ms_slice_every_second(ms_tape *tape, ms_tensor a)
{
    if (ms_idle(tape) || !a)
        return 0;
    uint32_t node = ms_record(tape, &slice_op, 1, &a);
    ms_tensor_info info = *ms_info(tape, a);
    uint32_t last = info.shape.rank - 1;
    info.shape.dims[last] = ms_dim_half(&tape->trace->symbols, info.shape.dims[last]);
    info.strides[last] *= 2;
    return attached(tape, node, a, ms_alias(tape, a, info.shape, info.strides));
}

/* ---- unsqueeze and expand ---- */

static const ms_op unsqueeze_op = {"unsqueeze", "UnsqueezeBackward0", reshape_backward};

ms_tensor ms_unsqueeze(ms_tape *tape, ms_tensor a, uint32_t dim)
{
    if (ms_idle(tape) || !a)
        return 0;
    uint32_t node = ms_record(tape, &unsqueeze_op, 1, &a);
    ms_tensor_info info = *ms_info(tape, a);
    uint64_t stride = dim < info.shape.rank ? info.strides[dim] * info.shape.dims[dim].value : 1;
    for (uint32_t i = info.shape.rank; i > dim; i--) {
        info.shape.dims[i] = info.shape.dims[i - 1];
        info.strides[i] = info.strides[i - 1];
    }
    info.shape.rank++;
    info.shape.dims[dim] = (ms_dim){.value = 1};
    info.strides[dim] = stride;
    return attached(tape, node, a, ms_alias(tape, a, info.shape, info.strides));
}

static const ms_op squeeze_op = {"squeeze", "SqueezeBackward1", reshape_backward};

ms_tensor ms_squeeze(ms_tape *tape, ms_tensor a, uint32_t dim)
{
    if (ms_idle(tape) || !a)
        return 0;
    uint32_t node = ms_record(tape, &squeeze_op, 1, &a);
    ms_tensor_info info = *ms_info(tape, a);
    if (info.shape.dims[dim].value == 1) {
        info.shape.rank--;
        for (uint32_t i = dim; i < info.shape.rank; i++) {
            info.shape.dims[i] = info.shape.dims[i + 1];
            info.strides[i] = info.strides[i + 1];
        }
    }
    return attached(tape, node, a, ms_alias(tape, a, info.shape, info.strides));
}

/* The engine sums what was expanded: the gradient passes as it is. */
static const ms_op expand_op = {"expand", "ExpandBackward0", clone_backward};

ms_tensor ms_expand(ms_tape *tape, ms_tensor a, ms_shape shape)
{
    if (ms_idle(tape) || !a)
        return 0;
    uint32_t node = ms_record(tape, &expand_op, 1, &a);
    ms_tensor_info info = *ms_info(tape, a);
    uint32_t lead = shape.rank - info.shape.rank;
    uint64_t strides[MS_MAX_RANK] = {0};
    for (uint32_t i = lead; i < shape.rank; i++)
        strides[i] =
            info.shape.dims[i - lead].value == shape.dims[i].value ? info.strides[i - lead] : 0;
    return attached(tape, node, a, ms_alias(tape, a, shape, strides));
}

/* ---- copies into a part: backward copies the whole gradient and the part of it; where the whole
 * had a gradient before, that part of it becomes zero ---- */

enum { COPY_BASE, COPY_SOURCE };

static void copy_into_backward(ms_tape *tape, const ms_node *node, ms_tensor *grads, ms_tensor *out)
{
    ms_dtype dtype = (ms_dtype)ms_info(tape, grads[0])->dtype;
    const ms_meta source = *ms_input_meta(tape, node, COPY_SOURCE);
    ms_tensor whole = ms_empty(tape, ms_input_meta(tape, node, COPY_BASE)->shape, dtype);
    ms_tensor part = ms_empty(tape, source.shape, dtype);
    ms_tensor zeros = ms_node_wants(node, COPY_BASE) ? ms_empty(tape, source.shape, dtype) : 0;
    if (source.dtype != dtype) {
        ms_tensor cast = ms_empty(tape, source.shape, (ms_dtype)source.dtype);
        ms_consume(tape, part);
        part = cast;
    }
    ms_consume(tape, zeros);
    out[COPY_SOURCE] = part;
    if (ms_node_wants(node, COPY_BASE))
        out[COPY_BASE] = whole;
    else
        ms_consume(tape, whole);
}

static const ms_op copy_into_op = {"copy_", "CopySlices", copy_into_backward};

ms_tensor ms_copy_into(ms_tape *tape, ms_tensor base, ms_tensor source)
{
    if (ms_idle(tape) || !base || !source)
        return 0;
    ms_op_mark mark = ms_op_begin(tape, &copy_into_op);
    ms_tensor inputs[] = {base, source};
    uint32_t node = ms_record(tape, &copy_into_op, 2, inputs);
    ms_change_in_place(tape, base);
    const ms_tensor_info info = *ms_info(tape, base);
    return ms_op_finish(tape, mark, node, 2, inputs,
                        ms_alias(tape, base, info.shape, info.strides));
}
