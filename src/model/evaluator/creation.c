/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Functions of PyTorch that make tensors of sizes, and what memscope knows of the pass that runs.
 */
#include <math.h>
#include <string.h>

#include "model/blocks/cache.h"
#include "model/blocks/images.h"
#include "model/blocks/packed/quantized.h"
#include "model/evaluator/evaluate.h"
#include "torch/ops/moe/routing.h"
#include "torch/ops/moe/rows.h"
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
        ms_frame_fail(f, call, "expected up to %d sizes", MS_MAX_RANK);
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

/* A number, as a tensor of no dimension; of the host's, operators of the device read the number. */
MS_OPERATION(apply_tensor)
{
    const bool of_host = a[2].kind == MS_VALUE_TEXT && strcmp(a[2].text, "cpu") == 0;
    if (a[0].kind != MS_VALUE_NUMBER)
        return ms_frame_failed(f, call, "expected a number");
    if (of_host && !f->model->tape->on_cpu)
        return a[0];
    return ms_value_of_tensor(ms_empty(f->model->tape, (ms_shape){0}, type_of(a[1], MS_DTYPE_F32)));
}

MS_OPERATION(apply_zeros_like)
{
    if (a[0].kind != MS_VALUE_TENSOR)
        return ms_frame_failed(f, call, "expected a tensor");
    return ms_value_of_tensor(ms_zeros_like(f->model->tape, a[0].tensor));
}

MS_OPERATION(apply_arange)
{
    const ms_value end = a[1].kind == MS_VALUE_NUMBER ? a[1] : a[0];
    const double first = a[1].kind == MS_VALUE_NUMBER ? a[0].number : 0;
    const double step = a[2].kind == MS_VALUE_NUMBER ? a[2].number : 1;
    if (a[0].kind != MS_VALUE_NUMBER || end.number <= first || end.number > 1e15 || !(step >= 1))
        return ms_frame_failed(f, call, "expected a number of elements");
    const bool counts = step > 1 || first > 0 || first < 0;
    const ms_value count = counts ? ms_value_of_number(ceil((end.number - first) / step)) : end;
    return ms_value_of_tensor(ms_empty(f->model->tape, MS_SHAPE(ms_size_of_value(f, count)),
                                       type_of(a[3], MS_DTYPE_I64)));
}

/* repeat(n, 1, 1) of two dimensions, and so on */
static bool repeats_whole(const ms_shape *times, uint32_t rank)
{
    bool are_ones = times->rank == rank + 1;
    for (uint32_t i = 1; i < times->rank; i++)
        are_ones &= times->dims[i].value == 1;
    return are_ones;
}

/* Copies along each dimension: of what needs a gradient, of the whole. */
MS_OPERATION(apply_repeat)
{
    ms_tape *tape = f->model->tape;
    ms_shape times;
    if (a[0].kind != MS_VALUE_TENSOR)
        return ms_frame_failed(f, call, "expected a tensor");
    if (!take_shape(f, call, a[1], &times))
        return (ms_value){0};
    const ms_tensor_info from = *ms_info(tape, a[0].tensor);
    if (from.shape.rank == 2 && times.rank == 2 && times.dims[1].value == 1)
        return ms_value_of_tensor(ms_repeat_rows(tape, a[0].tensor, times.dims[0]));
    if (ms_needs_grad(tape, a[0].tensor))
        return repeats_whole(&times, from.shape.rank)
                   ? ms_value_of_tensor(ms_repeat_first(tape, a[0].tensor, times.dims[0]))
                   : ms_frame_failed(f, call, "expected a tensor without gradients");
    if (times.rank < from.shape.rank)
        return ms_frame_failed(f, call, "expected a number for each dimension");
    for (uint32_t i = 0; i < from.shape.rank; i++) {
        ms_dim *dim = &times.dims[times.rank - 1 - i];
        const ms_dim old = from.shape.dims[from.shape.rank - 1 - i];
        *dim = old.value == 1 ? *dim : ms_dim_mul(&tape->trace->symbols, *dim, old);
    }
    const ms_tensor out = ms_empty(tape, times, (ms_dtype)from.dtype);
    ms_consume(tape, a[0].tensor);
    return ms_value_of_tensor(out);
}

/* The elements of x at the places `index` along a dimension; of another than the last, where
 * nothing needs gradients. */
MS_OPERATION(apply_gather)
{
    ms_tape *tape = f->model->tape;
    if (a[0].kind != MS_VALUE_TENSOR || a[2].kind != MS_VALUE_TENSOR)
        return ms_frame_failed(f, call, "expected two tensors");
    const ms_tensor_info from = *ms_info(tape, a[0].tensor), index = *ms_info(tape, a[2].tensor);
    const double last = (double)from.shape.rank - 1;
    if (index.dtype != MS_DTYPE_I64 || index.shape.rank != from.shape.rank) {
        (void)ms_check_fail(f, call, a[2].tensor, "expected places in each dimension");
        return (ms_value){0};
    }
    if (a[1].kind == MS_VALUE_NUMBER && (a[1].number >= last || a[1].number < 0))
        return ms_value_of_tensor(ms_gather_last(tape, a[0].tensor, a[2].tensor));
    if (ms_needs_grad(tape, a[0].tensor))
        return ms_frame_failed(f, call, "expected a tensor without gradients");
    const ms_tensor out = ms_empty(tape, index.shape, (ms_dtype)from.dtype);
    ms_consume(tape, a[0].tensor);
    ms_consume(tape, a[2].tensor);
    return ms_value_of_tensor(out);
}

/* x, with a number where a mask is true; where x needs gradients, the mask is no larger. */
MS_OPERATION(apply_masked_fill)
{
    ms_tape *tape = f->model->tape;
    if (a[0].kind != MS_VALUE_TENSOR || a[1].kind != MS_VALUE_TENSOR)
        return ms_frame_failed(f, call, "expected a tensor and a mask");
    if (!ms_check_broadcast(f, call, a[0].tensor, a[1].tensor))
        return (ms_value){0};
    if (ms_check_covers(f, a[0].tensor, a[1].tensor))
        return ms_value_of_tensor(ms_masked_fill(tape, a[0].tensor, a[1].tensor));
    if (ms_needs_grad(tape, a[0].tensor))
        return ms_frame_failed(f, call, "expected a mask no larger than the tensor");
    const ms_tensor both[] = {a[0].tensor, a[1].tensor};
    const ms_tensor out =
        ms_elementwise_out(tape, 2, both, (ms_dtype)ms_info(tape, a[0].tensor)->dtype);
    ms_consume(tape, a[0].tensor);
    ms_consume(tape, a[1].tensor);
    return ms_value_of_tensor(out);
}

/* x.scatter_(dim, index, value): in place, tensors along the last dimension. A number takes no
 * memory. */
MS_OPERATION(apply_scatter_into)
{
    ms_tape *tape = f->model->tape;
    if (a[0].kind != MS_VALUE_TENSOR || a[2].kind != MS_VALUE_TENSOR ||
        !ms_given_last(f, call, a[0], a[1]))
        return ms_frame_failed(f, call, "expected a tensor, its last dimension and places");
    if (ms_needs_grad(tape, a[0].tensor))
        return ms_frame_failed(f, call, "expected a tensor without gradients");
    if (a[3].kind == MS_VALUE_NUMBER) {
        ms_consume(tape, a[2].tensor);
        return a[0];
    }
    if (a[3].kind != MS_VALUE_TENSOR ||
        !ms_same_shape(&ms_info(tape, a[2].tensor)->shape, &ms_info(tape, a[3].tensor)->shape))
        return ms_frame_failed(f, call, "expected a value for each place");
    ms_retain(tape, a[2].tensor);
    const ms_tensor out = ms_scatter_last_into(tape, a[0].tensor, a[2].tensor, a[3].tensor);
    ms_release(tape, a[2].tensor);
    return ms_value_of_tensor(out);
}

/* The same with a number, as a new tensor. */
MS_OPERATION(apply_scatter)
{
    ms_tape *tape = f->model->tape;
    const bool are_there = a[0].kind == MS_VALUE_TENSOR && a[2].kind == MS_VALUE_TENSOR;
    if (!are_there || a[3].kind != MS_VALUE_NUMBER || ms_needs_grad(tape, a[0].tensor))
        return ms_frame_failed(f, call, "expected a tensor without gradients, places and a number");
    const ms_tensor out =
        ms_empty_like(tape, a[0].tensor, (ms_dtype)ms_info(tape, a[0].tensor)->dtype);
    ms_consume(tape, a[0].tensor);
    ms_consume(tape, a[2].tensor);
    return ms_value_of_tensor(out);
}

/* The products of two rows of numbers. */
MS_OPERATION(apply_outer)
{
    ms_tape *tape = f->model->tape;
    bool are_rows = true;
    for (int i = 0; i < 2 && are_rows; i++)
        are_rows = a[i].kind == MS_VALUE_TENSOR && !ms_needs_grad(tape, a[i].tensor) &&
                   ms_info(tape, a[i].tensor)->shape.rank == 1;
    if (!are_rows)
        return ms_frame_failed(f, call, "expected two rows without gradients");
    const ms_tensor_info x = *ms_info(tape, a[0].tensor), y = *ms_info(tape, a[1].tensor);
    const ms_dtype dtype = ms_promote((ms_dtype)x.dtype, (ms_dtype)y.dtype);
    const ms_tensor out = ms_empty(tape, MS_SHAPE(x.shape.dims[0], y.shape.dims[0]), dtype);
    ms_consume(tape, a[0].tensor);
    ms_consume(tape, a[1].tensor);
    return ms_value_of_tensor(out);
}

MS_OPERATION(apply_default_dtype)
{
    (void)call, (void)a;
    return ms_value_of_type(ms_unpacked_dtype(f->model));
}

/* ---- the pass ---- */

MS_OPERATION(apply_given_positions)
{
    (void)call, (void)a;
    return ms_value_of_tensor(f->model->position_ids);
}

/* The mask of the tokens of a batch, unless there is a cache. */
MS_OPERATION(apply_given_mask)
{
    (void)call, (void)a;
    return ms_value_of_tensor(f->model->cache ? 0 : f->model->attention_mask);
}

/* The number of tokens seen and new, on the device, where a cache with room has some. */
MS_OPERATION(apply_count_seen)
{
    const ms_cache *cache = f->model->cache;
    (void)call, (void)a;
    if (!cache || cache->room == 0 || cache->layers[0].seen == 0)
        return (ms_value){0};
    return ms_value_of_tensor(ms_empty_bytes(f->model->tape, 8, MS_DTYPE_I64));
}

/* Those that a layer attends to: also the room of a cache. */
MS_OPERATION(apply_key_tokens)
{
    (void)call, (void)a;
    return ms_value_of_dim(ms_cache_keys(f->model, 0));
}

MS_OPERATION(apply_is_eager)
{
    (void)call, (void)a;
    const ms_attention backend =
        f->self->is_of_tower ? ms_tower_backend(f->model) : f->model->attention;
    return ms_value_of_number(backend == MS_ATTENTION_EAGER);
}

/* Whether what follows sees the last token of a prompt alone, as its logits are all that is wanted:
 * then the pass goes on with one. Without a mask a static cache would lose which tokens it may
 * see. */
MS_OPERATION(apply_leaves_last)
{
    ms_model *m = f->model;
    const bool are_masks = a[0].kind == MS_VALUE_TENSOR && a[1].kind == MS_VALUE_TENSOR;
    const bool leaves =
        m->cache && m->seq.value > 1 && (m->cache->room == 0 || are_masks) && !ms_idle(m->tape);
    (void)call;
    if (leaves)
        m->seq = ms_dim_number(&m->tape->trace->symbols, 1);
    return ms_value_of_number(leaves);
}

MS_OPERATION(apply_seen_tokens)
{
    (void)call, (void)a;
    return ms_value_of_dim(ms_cache_seen(f->model));
}

/* Whether modules are made on the host, and moved to the device. */
MS_OPERATION(apply_made_on_host)
{
    (void)call, (void)a;
    return ms_value_of_number(ms_is_made_on_host(f->model));
}

/* What rotary embeddings turn by. */
MS_OPERATION(apply_frequencies)
{
    if (a[0].kind != MS_VALUE_NUMBER || !(a[0].number >= 1))
        return ms_frame_failed(f, call, "expected a number of elements");
    return ms_value_of_tensor(ms_inverse_frequencies(f->model, ms_size_of_value(f, a[0])));
}

static const ms_primitive creations[] = {
    MS_OPERATION_ROW("is_made_on_host", "", "", apply_made_on_host),
    MS_OPERATION_ROW("inverse_frequencies", "count", "v", apply_frequencies),
    MS_OPERATION_ROW("empty", "*sizes dtype device", "v|vv", apply_empty),
    MS_OPERATION_ROW("ones", "*sizes dtype device", "v|vv", apply_empty),
    MS_OPERATION_ROW("zeros", "*sizes dtype device", "v|vv", apply_empty),
    MS_OPERATION_ROW("full", "size fill_value dtype device", "vv|vv", apply_full),
    MS_OPERATION_ROW("tensor", "data dtype device", "v|vv", apply_tensor),
    MS_OPERATION_ROW("zeros_like", "x", "v", apply_zeros_like),
    MS_OPERATION_ROW("full_like", "x fill_value", "vv", apply_zeros_like),
    MS_OPERATION_ROW("arange", "start end step dtype device", "v|vvvv", apply_arange),
    MS_OPERATION_ROW("repeat", "x *sizes", "vv", apply_repeat),
    MS_OPERATION_ROW("gather", "x dim index", "vvv", apply_gather),
    MS_OPERATION_ROW("masked_fill", "x mask value", "vvv", apply_masked_fill),
    MS_OPERATION_ROW("scatter_", "x dim index value", "vvvv", apply_scatter_into),
    MS_OPERATION_ROW("scatter", "x dim index value", "vvvv", apply_scatter),
    MS_OPERATION_ROW("outer", "x other", "vv", apply_outer),
    MS_OPERATION_ROW("get_default_dtype", "", "", apply_default_dtype),
    MS_OPERATION_ROW("given_positions", "", "", apply_given_positions),
    MS_OPERATION_ROW("given_mask", "", "", apply_given_mask),
    MS_OPERATION_ROW("count_seen", "", "", apply_count_seen),
    MS_OPERATION_ROW("key_tokens", "", "", apply_key_tokens),
    MS_OPERATION_ROW("attention_is_eager", "", "", apply_is_eager),
    MS_OPERATION_ROW("seen_tokens", "", "", apply_seen_tokens),
    MS_OPERATION_ROW("leaves_last_token", "full_mask sliding_mask", "vv", apply_leaves_last),
};

const ms_primitive_list ms_creation_rows = {creations, sizeof creations / sizeof *creations};
