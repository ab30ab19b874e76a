/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/blocks/packed/cache_packed.h"

#include <inttypes.h>
#include <limits.h>

#include "input/config/model/model_config.h"
#include "torch/autograd/cuda_reduce.h"
#include "torch/ops/ops.h"
#include "core/trace/build.h"

ms_status ms_cache_packed_check(const ms_model *model, const ms_cache_packing *p, ms_error *err)
{
    const ms_model_config *c = model->config;
    for (uint64_t i = 0; i < c->num_layers; i++)
        if (c->sliding_window > 0 && ms_layer_slides(c, i))
            return ms_fail(err, MS_ERR_CONFIG,
                           "model type %s: transformers 5.23 refuses a quantised cache for layers "
                           "with a window",
                           c->model_type);
    bool divides =
        p->kind != MS_CACHE_QUANTO || (c->num_kv_heads * ms_key_dim(c) % p->group == 0 &&
                                       c->num_kv_heads * ms_value_dim(c) % p->group == 0);
    return divides ? MS_OK
                   : ms_fail(err, MS_ERR_CONFIG,
                             "cache-group: groups of %" PRIu64 " do not divide the keys and values "
                             "of a token",
                             p->group);
}

/* ---- storages ---- */

static ms_tensor buffer(ms_model *model, uint64_t bytes)
{
    return ms_empty_bytes(model->tape, bytes, MS_DTYPE_U8);
}

/* Of the cache, held. */
static ms_tensor kept(ms_model *model, ms_tensor tensor)
{
    ms_retain(model->tape, tensor);
    if (!ms_idle(model->tape))
        ms_trace_keep(model->tape->trace, ms_info(model->tape, tensor)->storage);
    return tensor;
}

static uint64_t size_of(const ms_model *model, ms_tensor x)
{
    return ms_elements(&ms_info(model->tape, x)->shape);
}

static uint64_t number_bytes(const ms_model *model, ms_tensor x)
{
    return ms_dtype_bytes((ms_dtype)ms_info(model->tape, x)->dtype);
}

/* A tensor as x, of so many tokens. */
static ms_tensor of_tokens(ms_model *model, ms_tensor x, uint64_t tokens)
{
    ms_tensor_info info = *ms_info(model->tape, x);
    info.shape.dims[2] = ms_dim_number(&model->tape->trace->symbols, tokens);
    return ms_empty(model->tape, info.shape, (ms_dtype)info.dtype);
}

static void let_go(ms_model *model, ms_packed_states *states)
{
    for (size_t i = 0; i < sizeof states->tensors / sizeof states->tensors[0]; i++)
        ms_release(model->tape, states->tensors[i]);
    *states = (ms_packed_states){0};
}

/* ---- optimum-quanto: groups along the last dimensions, two or four numbers in a byte ---- */

/* Numbers of several rows in one byte: a row of bytes for each. */
static ms_tensor pack(ms_model *model, uint64_t rows, uint64_t group, uint64_t in_byte)
{
    uint64_t height = (rows + in_byte - 1) / in_byte;
    uint64_t parts = rows / height + 1 < in_byte ? rows / height + 1 : in_byte;
    ms_tensor packed = kept(model, buffer(model, height * group));
    for (uint64_t i = 0; i < parts; i++) {
        uint64_t first = i * height, last = first + height < rows ? first + height : rows;
        if (last > first)
            ms_consume(model->tape, buffer(model, (last - first) * group));
    }
    return packed;
}

static void quantise(ms_model *model, ms_tensor x, ms_packed_states *states)
{
    ms_tape *tape = model->tape;
    const ms_cache_packing *p = &model->cache->packing;
    if (ms_idle(tape) || !x)
        return;
    uint64_t count = size_of(model, x), bytes = number_bytes(model, x);
    uint64_t rows = count / p->group;
    ms_packed_states made = {.tokens = ms_info(tape, x)->shape.dims[2].value};
    ms_tensor copy = ms_contiguous_copy(tape, x);
    ms_tensor least = buffer(model, rows * bytes), most = buffer(model, rows * bytes);
    ms_tensor range = buffer(model, rows * bytes);
    made.tensors[0] = kept(model, buffer(model, rows * bytes));
    ms_consume(tape, range);
    made.tensors[1] = kept(model, buffer(model, rows * bytes));
    ms_consume(tape, least);
    ms_consume(tape, most);
    ms_tensor shifted = buffer(model, count * bytes), scaled = buffer(model, count * bytes);
    ms_consume(tape, shifted);
    ms_tensor rounded = buffer(model, count * bytes);
    ms_consume(tape, scaled);
    ms_tensor clamped = buffer(model, count * bytes), numbers = buffer(model, count);
    ms_consume(tape, clamped);
    ms_consume(tape, rounded);
    made.tensors[2] = pack(model, rows, p->group, CHAR_BIT / p->bits);
    ms_consume(tape, numbers);
    ms_consume(tape, copy);
    let_go(model, states);
    *states = made;
}

/* The kernel that unpacks is compiled; scales and shifts are applied to all. */
static ms_tensor dequantise(ms_model *model, ms_tensor like, const ms_packed_states *states)
{
    const ms_cache_packing *p = &model->cache->packing;
    if (ms_idle(model->tape))
        return 0;
    uint64_t tokens = ms_info(model->tape, like)->shape.dims[2].value;
    uint64_t rows = size_of(model, like) / tokens * states->tokens / p->group;
    uint64_t in_byte = CHAR_BIT / p->bits;
    ms_tensor numbers = buffer(model, (rows + in_byte - 1) / in_byte * in_byte * p->group);
    ms_tensor out = of_tokens(model, like, states->tokens);
    ms_consume(model->tape, numbers);
    return out;
}

/* What is not packed yet, and one more. */
static void lengthen(ms_model *model, ms_tensor *rest, ms_tensor more, uint64_t tokens)
{
    ms_tensor joined = kept(model, of_tokens(model, more, tokens));
    ms_release(model->tape, *rest);
    *rest = joined;
}

static void append_quanto(ms_model *model, ms_cached_layer *row, ms_tensor key, ms_tensor value,
                          ms_tensor all[2])
{
    ms_tape *tape = model->tape;
    uint64_t before = row->seen, tokens = model->seq.value;
    uint64_t rest = before - row->packed[0].tokens + tokens;
    if (before == 0) {
        quantise(model, key, &row->packed[0]);
        quantise(model, value, &row->packed[1]);
        return;
    }
    ms_tensor keys = dequantise(model, key, &row->packed[0]);
    ms_tensor values = dequantise(model, value, &row->packed[1]);
    all[0] = of_tokens(model, key, before + tokens);
    all[1] = of_tokens(model, value, before + tokens);
    if (rest >= model->cache->packing.residual) {
        quantise(model, all[0], &row->packed[0]);
        quantise(model, all[1], &row->packed[1]);
        ms_release(tape, row->keys);
        ms_release(tape, row->values);
        row->keys = row->values = 0;
    } else {
        lengthen(model, &row->keys, key, rest);
        lengthen(model, &row->values, value, rest);
    }
    ms_consume(tape, keys);
    ms_consume(tape, values);
}

/* ---- fp8: one scale, of the first pass ---- */

/* abs().amax().float() / fp8_max, clamped. */
static ms_tensor scale_of(ms_model *model, ms_tensor x)
{
    enum { SUM_BYTES = 4, SCALE_BYTES = 4 };
    ms_tape *tape = model->tape;
    uint64_t bytes = number_bytes(model, x);
    ms_tensor absolute = buffer(model, size_of(model, x) * bytes);
    ms_tensor most = buffer(model, bytes);
    ms_reduce_buffers buffers =
        ms_cuda_reduce_buffers(tape->options.device, 1, size_of(model, x), true);
    if (buffers.partial_bytes) {
        ms_tensor partial = buffer(model, buffers.partial_bytes / SUM_BYTES * bytes);
        ms_transient(tape, buffers.semaphore_bytes, MS_DTYPE_I32);
        ms_consume(tape, partial);
    }
    ms_consume(tape, absolute);
    ms_tensor wide = bytes == SCALE_BYTES ? most : buffer(model, SCALE_BYTES);
    if (wide != most)
        ms_consume(tape, most);
    ms_tensor quotient = buffer(model, SCALE_BYTES);
    ms_consume(tape, wide);
    ms_tensor scale = kept(model, buffer(model, SCALE_BYTES));
    ms_consume(tape, quotient);
    return scale;
}

/* (x.float() / scale).to(fp8) */
static ms_tensor as_fp8(ms_model *model, ms_tensor x)
{
    ms_tape *tape = model->tape;
    uint64_t count = size_of(model, x), wide_bytes = count * ms_dtype_bytes(MS_DTYPE_F32);
    bool is_wide = ms_info(tape, x)->dtype == MS_DTYPE_F32;
    ms_tensor wide = is_wide ? 0 : buffer(model, wide_bytes);
    ms_tensor quotient = buffer(model, wide_bytes);
    ms_consume(tape, wide);
    ms_tensor out = buffer(model, count);
    ms_consume(tape, quotient);
    return out;
}

/* (packed.float() * scale).to(dtype) */
static ms_tensor from_fp8(ms_model *model, ms_tensor like, uint64_t tokens)
{
    ms_tape *tape = model->tape;
    ms_tensor_info info = *ms_info(tape, like);
    info.shape.dims[2] = ms_dim_number(&tape->trace->symbols, tokens);
    ms_tensor wide = ms_empty(tape, info.shape, MS_DTYPE_F32);
    ms_tensor product = ms_empty(tape, info.shape, MS_DTYPE_F32);
    ms_consume(tape, wide);
    return info.dtype == MS_DTYPE_F32 ? product : ms_to(tape, product, (ms_dtype)info.dtype);
}

static void begin_fp8(ms_model *model, ms_tensor x, ms_packed_states *states)
{
    states->tokens = ms_info(model->tape, x)->shape.dims[2].value;
    states->tensors[1] = scale_of(model, x);
    states->tensors[0] = kept(model, as_fp8(model, x));
}

/* Yields what was there, which stays until the layer has returned. */
static ms_tensor join_fp8(ms_model *model, ms_tensor like, uint64_t tokens,
                          ms_packed_states *states)
{
    const ms_shape *shape = &ms_info(model->tape, like)->shape;
    uint64_t bytes = ms_elements(shape) / shape->dims[2].value * tokens;
    ms_tensor old = states->tensors[0];
    states->tensors[0] = kept(model, buffer(model, bytes));
    states->tokens = tokens;
    return old;
}

static void append_fp8(ms_model *model, ms_cached_layer *row, ms_tensor key, ms_tensor value,
                       ms_tensor all[2])
{
    ms_tape *tape = model->tape;
    uint64_t tokens = row->seen + model->seq.value;
    if (row->seen == 0) {
        begin_fp8(model, key, &row->packed[0]);
        begin_fp8(model, value, &row->packed[1]);
        return;
    }
    ms_tensor keys = as_fp8(model, key), values = as_fp8(model, value), old[2];
    old[0] = join_fp8(model, key, tokens, &row->packed[0]);
    old[1] = join_fp8(model, value, tokens, &row->packed[1]);
    all[0] = from_fp8(model, key, tokens);
    all[1] = from_fp8(model, value, tokens);
    ms_release(tape, old[0]);
    ms_release(tape, old[1]);
    ms_consume(tape, keys);
    ms_consume(tape, values);
}

/* ---- both ---- */

void ms_cache_packed_append(ms_model *model, uint64_t layer, ms_tensor key, ms_tensor value,
                            ms_tensor all[2])
{
    ms_cached_layer *row = &model->cache->layers[layer];
    all[0] = all[1] = 0;
    if (ms_idle(model->tape))
        return;
    if (model->cache->packing.kind == MS_CACHE_QUANTO)
        append_quanto(model, row, key, value, all);
    else
        append_fp8(model, row, key, value, all);
    row->seen += model->seq.value;
    all[0] = all[0] ? all[0] : key;
    all[1] = all[1] ? all[1] : value;
    ms_retain(model->tape, all[0]);
    ms_retain(model->tape, all[1]);
}
