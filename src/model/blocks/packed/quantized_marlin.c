/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * GPTQ and AWQ as GPT-QModel 7.7 serves them by Marlin (nn_modules/qlinear/marlin.py,
 * marlin_awq.py): once the model is on the device, each layer's tensors are packed again, in shapes
 * that are multiples of the kernel's tiles.
 */
#include <limits.h>

#include "model/blocks/packed/packing.h"
#include "torch/ops/moe/routing.h"
#include "torch/ops/ops.h"
#include "torch/ops/quantized/marlin.h"
#include "core/trace/build.h"

enum { WORD_BITS = 32, NARROW_TILE = 64, WIDE_TILE = 128, LEAST_LOCKS = 128 };

/* ---- shapes ---- */

static uint64_t divide_up(uint64_t a, uint64_t b)
{
    return a / b + (a % b != 0);
}

static uint64_t round_up(uint64_t a, uint64_t b)
{
    return divide_up(a, b) * b;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* Inputs that share a scale. */
static uint64_t group_of(const ms_model *model, uint64_t in)
{
    uint64_t group = model->run->quantization.group_weights;
    return group ? group : in;
}

static uint64_t groups_of(const ms_model *model, const struct ms_quantized *q)
{
    return q->in.value / group_of(model, q->in.value);
}

typedef struct extent {
    uint64_t out, in;
} extent;

/* The tile may stand either way; groups are powers of two. */
static extent padded(const ms_model *model, const struct ms_quantized *q)
{
    uint64_t group = model->run->quantization.group_weights;
    bool is_whole = group == 0 || group == q->in.value;
    const extent ways[] = {{round_up(q->out.value, NARROW_TILE),
                            round_up(q->in.value, larger(WIDE_TILE, is_whole ? 1 : group))},
                           {round_up(q->out.value, WIDE_TILE),
                            round_up(q->in.value, larger(NARROW_TILE, is_whole ? 1 : group))}};
    uint64_t sizes[2], sums[2];
    for (size_t i = 0; i < 2; i++) {
        sizes[i] = ways[i].out * ways[i].in;
        sums[i] = ways[i].out + ways[i].in;
    }
    bool is_second = sizes[1] < sizes[0] || (sizes[1] == sizes[0] && sums[1] < sums[0]);
    return ways[is_second];
}

static bool is_padded(const struct ms_quantized *q, extent to)
{
    return to.out != q->out.value || to.in != q->in.value;
}

static uint64_t packed_bytes(const ms_model *model, extent size)
{
    return size.out * size.in * model->run->quantization.bits / CHAR_BIT;
}

static uint64_t padded_groups(const ms_model *model, const struct ms_quantized *q, extent to)
{
    return groups_of(model, q) == 1 ? 1 : to.in / group_of(model, q->in.value);
}

/* ---- what a layer's tensors become ---- */

static ms_tensor fresh(ms_model *model, uint64_t bytes, ms_dtype dtype)
{
    ms_tape *tape = model->tape;
    tape->new_category = MS_CATEGORY_WEIGHT;
    uint64_t count = bytes / ms_dtype_bytes(dtype);
    ms_tensor tensor = ms_empty(tape, MS_SHAPE(ms_dim_number(&tape->trace->symbols, count)), dtype);
    tape->new_category = MS_CATEGORY_TEMPORARY;
    return tensor;
}

/* The handle gets the new storage; yields what has the old one. */
static ms_tensor exchange(ms_model *model, ms_tensor tensor, ms_tensor with)
{
    ms_tape *tape = model->tape;
    if (ms_idle(tape) || !tensor || !with)
        return with;
    const ms_storage from = tape->trace->storages.items[ms_info(tape, tensor)->storage];
    ms_storage_swap(tape, tensor, with);
    ms_trace_label(tape->trace, ms_info(tape, tensor)->storage, from.name, from.scope);
    return with;
}

/* The order of columns, made once for all layers: of groups, and of whole columns. */
static void make_orders(ms_model *model)
{
    enum { GROUPED = 64, WHOLE = 32 };
    if (model->scale_order)
        return;
    model->scale_order = ms_packed_part(model, "scale order", GROUPED, MS_DTYPE_I64);
    ms_packed_part(model, "scale order", WHOLE, MS_DTYPE_I64);
}

/* F.pad(), where it has anything to do. */
static ms_tensor padded_copy(ms_model *model, bool is_any, uint64_t bytes)
{
    return is_any ? ms_empty_bytes(model->tape, bytes, MS_DTYPE_U8) : 0;
}

static uint64_t scale_bytes(const ms_model *model, const struct ms_quantized *q, extent to)
{
    return padded_groups(model, q, to) * to.out * ms_dtype_bytes(MS_DTYPE_F16);
}

static void order_bias(ms_model *model, const ms_leaf_module *leaf, extent to)
{
    ms_tape *tape = model->tape;
    if (!leaf->bias || ms_idle(tape))
        return;
    uint64_t bytes = to.out * ms_dtype_bytes(MS_DTYPE_F16);
    ms_tensor copy = padded_copy(model, to.out != leaf->quantized->out.value, bytes);
    ms_tensor old = exchange(model, leaf->bias, fresh(model, bytes, MS_DTYPE_F16));
    ms_consume(tape, copy);
    ms_consume(tape, old);
}

static void make_locks(ms_model *model)
{
    uint64_t count = larger(model->run->device->multiprocessors, LEAST_LOCKS);
    ms_packed_part(model, "locks", count, MS_DTYPE_I32);
}

/* ---- GPTQ ---- */

static void make_gptq(ms_model *model, struct ms_quantized *q, uint32_t scope)
{
    uint64_t groups = groups_of(model, q);
    q->weight = ms_packed_weight_new(model, MS_SHAPE(q->out, q->in), scope, "weight",
                                     packed_bytes(model, (extent){q->out.value, q->in.value}));
    q->group_index = ms_packed_part(model, "group index", q->in.value, MS_DTYPE_I32);
    q->scales = ms_packed_part(model, "scales", groups * q->out.value, MS_DTYPE_F16);
    q->zeros = ms_packed_part(model, "zeros",
                              groups * q->out.value * model->run->quantization.bits / WORD_BITS,
                              MS_DTYPE_I32);
}

/* Inputs by their groups; the index is written over with the sorted one, which yields. */
static ms_tensor sort_inputs(ms_model *model, struct ms_quantized *q)
{
    ms_tape *tape = model->tape;
    ms_tensor sorted[2];
    if (ms_idle(tape))
        return 0;
    ms_sort(tape, q->group_index, sorted);
    ms_consume(tape, sorted[0]);
    ms_packed_part(model, "order of inputs", q->in.value, MS_DTYPE_I32);
    ms_consume(tape, sorted[1]);
    ms_tensor wide = ms_empty(tape, MS_SHAPE(q->in), MS_DTYPE_I64);
    ms_tensor index = ms_empty(tape, MS_SHAPE(q->in), MS_DTYPE_I32);
    ms_consume(tape, wide);
    return index;
}

static bool sorts_inputs(const ms_model *model, const struct ms_quantized *q)
{
    return model->run->quantization.sorts_inputs && groups_of(model, q) > 1;
}

static void finish_gptq(ms_model *model, const ms_leaf_module *leaf)
{
    ms_tape *tape = model->tape;
    struct ms_quantized *q = leaf->quantized;
    if (ms_idle(tape))
        return;
    bool sorts = sorts_inputs(model, q);
    extent to = sorts ? (extent){q->out.value, q->in.value} : padded(model, q);
    bool pads = is_padded(q, to);
    make_locks(model);
    ms_tensor index = sorts ? sort_inputs(model, q) : 0;
    if (!sorts)
        ms_release(tape, q->group_index);
    ms_release(tape, q->zeros);
    ms_tensor copy = padded_copy(model, pads, packed_bytes(model, to));
    ms_packed_swap(model, q->weight, fresh(model, packed_bytes(model, to), MS_DTYPE_I32));
    ms_consume(tape, copy);
    copy = padded_copy(model, pads, scale_bytes(model, q, to));
    make_orders(model);
    ms_packed_swap(model, q->scales, fresh(model, scale_bytes(model, q, to), MS_DTYPE_F16));
    ms_consume(tape, copy);
    order_bias(model, leaf, to);
    ms_consume(tape, index);
}

/* ---- AWQ ---- */

static void make_awq(ms_model *model, struct ms_quantized *q, uint32_t scope)
{
    uint64_t groups = groups_of(model, q);
    q->weight = ms_packed_weight_new(model, MS_SHAPE(q->out, q->in), scope, "weight",
                                     packed_bytes(model, (extent){q->out.value, q->in.value}));
    q->zeros = ms_packed_part(model, "zeros",
                              groups * q->out.value * model->run->quantization.bits / WORD_BITS,
                              MS_DTYPE_I32);
    q->scales = ms_packed_part(model, "scales", groups * q->out.value, MS_DTYPE_F16);
}

/* values[:, index] of so many bytes: the index comes from the host. */
static ms_tensor in_order(ms_model *model, uint64_t bytes, uint64_t columns)
{
    ms_tape *tape = model->tape;
    ms_tensor index = ms_empty_bytes(tape, columns * sizeof(int64_t), MS_DTYPE_I64);
    ms_tensor out = ms_empty_bytes(tape, bytes, MS_DTYPE_I32);
    ms_consume(tape, index);
    return out;
}

/* Unpacked and packed on the host, put in order on the device; what the caller of the second half
 * passed to it stays until that returns. */
static ms_tensor zeros_in_order(ms_model *model, uint64_t count)
{
    enum { INTERLEAVED = 8, COLUMNS = 64 };
    ms_tape *tape = model->tape;
    uint64_t bytes = count * sizeof(int32_t);
    ms_tensor values = ms_empty_bytes(tape, bytes, MS_DTYPE_I32);
    ms_tensor passed = in_order(model, bytes, INTERLEAVED);
    ms_consume(tape, values);
    values = in_order(model, bytes, COLUMNS);
    ms_tensor woven = in_order(model, bytes, INTERLEAVED);
    ms_consume(tape, values);
    ms_tensor packed =
        fresh(model, bytes * model->run->quantization.bits / WORD_BITS, MS_DTYPE_I32);
    ms_consume(tape, woven);
    ms_consume(tape, passed);
    return packed;
}

/* What the kernel is given stays until the function returns: what was there, or a padded copy. */
static ms_tensor replaced(ms_model *model, ms_tensor tensor, ms_tensor copy, ms_tensor with)
{
    ms_tensor old = exchange(model, tensor, with);
    if (!copy)
        return old;
    ms_consume(model->tape, old);
    return copy;
}

static void finish_awq(ms_model *model, const ms_leaf_module *leaf)
{
    ms_tape *tape = model->tape;
    struct ms_quantized *q = leaf->quantized;
    if (ms_idle(tape))
        return;
    extent to = padded(model, q);
    bool pads = is_padded(q, to);
    uint64_t zeros = padded_groups(model, q, to) * to.out;
    uint64_t zero_bytes = zeros * model->run->quantization.bits / CHAR_BIT;
    make_locks(model);
    ms_tensor copy = padded_copy(model, pads, packed_bytes(model, to)), left[3];
    left[0] = replaced(model, q->weight, copy, fresh(model, packed_bytes(model, to), MS_DTYPE_I32));
    copy = padded_copy(model, pads, scale_bytes(model, q, to));
    make_orders(model);
    left[1] =
        replaced(model, q->scales, copy, fresh(model, scale_bytes(model, q, to), MS_DTYPE_F16));
    copy = padded_copy(model, pads, zero_bytes);
    left[2] = replaced(model, q->zeros, copy, zeros_in_order(model, zeros));
    order_bias(model, leaf, to);
    for (size_t i = 0; i < sizeof left / sizeof left[0]; i++)
        ms_consume(tape, left[i]);
}

/* ---- products ---- */

/* Of scales or a bias of so many bytes in fp16, which may be padded. */
static void cast(ms_model *model, ms_tensor tensor, uint64_t bytes, ms_dtype dtype)
{
    if (!tensor || ms_idle(model->tape) || ms_info(model->tape, tensor)->dtype == dtype)
        return;
    uint64_t wide = bytes / ms_dtype_bytes(MS_DTYPE_F16) * ms_dtype_bytes(dtype);
    ms_consume(model->tape, exchange(model, tensor, fresh(model, wide, dtype)));
}

/* Scales and bias take the type of what comes in, for good. */
static ms_tensor call_marlin(ms_model *model, const struct ms_quantized *q,
                             const ms_linear_module *module, ms_tensor x)
{
    ms_tape *tape = model->tape;
    ms_symbols *s = &tape->trace->symbols;
    ms_dtype dtype = (ms_dtype)ms_info(tape, x)->dtype;
    bool sorts = sorts_inputs(model, q);
    extent to = sorts ? (extent){q->out.value, q->in.value} : padded(model, q);
    cast(model, q->scales, scale_bytes(model, q, to), dtype);
    cast(model, module->bias, to.out * ms_dtype_bytes(MS_DTYPE_F16), dtype);
    uint32_t last = ms_info(tape, x)->shape.rank - 1;
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *input = ms_argument(&f, x);
    ms_tensor *wide = ms_local(&f, *input);
    if (to.in != q->in.value)
        ms_assign(&f, wide, ms_pad(tape, *input, last, ms_dim_number(s, to.in)));
    ms_tensor *out = ms_local(&f, ms_matmul_marlin(tape, *wide, ms_dim_number(s, to.out), sorts));
    if (to.out != q->out.value)
        ms_assign(&f, out, ms_contiguous(tape, ms_narrow(tape, *out, last, q->out)));
    return ms_locals_end(&f, out);
}

static ms_dtype scales_dtype(const ms_model *model)
{
    (void)model;
    return MS_DTYPE_F16;
}

const ms_packing ms_packing_gptq_marlin = {.make = make_gptq,
                                           .finish = finish_gptq,
                                           .call = call_marlin,
                                           .adapter_dtype = scales_dtype,
                                           .is_half = true,
                                           .empties_cache = true};

const ms_packing ms_packing_awq_marlin = {.make = make_awq,
                                          .finish = finish_awq,
                                          .call = call_marlin,
                                          .adapter_dtype = scales_dtype,
                                          .is_half = true,
                                          .empties_cache = true};
