/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/blocks/patch_rows.h"

#include "input/config/model/model_config.h"
#include "model/blocks/images.h"
#include "torch/autograd/cuda_reduce.h"
#include "torch/ops/attention/attention.h"
#include "torch/ops/moe/rows.h"
#include "torch/ops/ops.h"

static ms_dim number(ms_model *model, uint64_t value)
{
    return ms_dim_number(&model->tape->trace->symbols, value);
}

/* [images, patches, `last`], or without it where that is 0. */
static ms_shape of_patches(ms_model *model, uint64_t last)
{
    ms_dim images = number(model, ms_image_count(model));
    ms_dim patches = number(model, model->run->images.grid.stored);
    return last ? MS_SHAPE(images, patches, number(model, last)) : MS_SHAPE(images, patches);
}

static bool has_padding(const ms_model *model)
{
    const ms_image_grid *grid = &model->run->images.grid;
    return grid->rows * grid->columns < grid->stored;
}

ms_tensor ms_patch_padding(ms_model *model)
{
    ms_tape *tape = model->tape;
    ms_tensor equal = ms_compare(tape, model->image_places, 0);
    ms_tensor both = ms_empty(tape, of_patches(model, 0), MS_DTYPE_BOOL);
    ms_consume(tape, equal);
    return both;
}

/* ---- which patches see which ---- */

/* Numbers of images, heads, queries and keys, locals of `f`. */
static void places(ms_model *model, ms_locals *f)
{
    ms_tape *tape = model->tape;
    ms_shape patches = MS_SHAPE(number(model, model->run->images.grid.stored));
    ms_local(f, ms_empty(tape, MS_SHAPE(number(model, ms_image_count(model))), MS_DTYPE_I64));
    ms_local(f, ms_empty_bytes(tape, 8, MS_DTYPE_I64));
    for (int i = 0; i < 2; i++)
        ms_local(f, ms_add_scalar(tape, ms_empty(tape, patches, MS_DTYPE_I64)));
}

/* (True & (query >= 0)) & seen[image, key]: [images, 1, patches, patches], additive for eager
 * attention. */
static ms_tensor make_mask(ms_model *model)
{
    ms_tape *tape = model->tape;
    ms_dim images = number(model, ms_image_count(model));
    ms_dim patches = number(model, model->run->images.grid.stored);
    ms_locals f = ms_locals_begin(tape);
    places(model, &f);
    ms_tensor all = ms_empty_bytes(tape, 1, MS_DTYPE_BOOL);
    ms_tensor is_query = ms_empty(tape, MS_SHAPE(patches), MS_DTYPE_BOOL);
    ms_tensor queries = ms_empty(tape, MS_SHAPE(patches), MS_DTYPE_BOOL);
    ms_consume(tape, is_query);
    ms_consume(tape, all);
    ms_tensor seen = ms_index_grid(tape, of_patches(model, 0), MS_DTYPE_BOOL);
    ms_tensor *mask = ms_local(
        &f, ms_empty(tape, MS_SHAPE(images, number(model, 1), patches, patches), MS_DTYPE_BOOL));
    ms_consume(tape, seen);
    ms_consume(tape, queries);
    ms_tensor result = ms_locals_end(&f, mask);
    if (model->attention != MS_ATTENTION_EAGER)
        return result;
    ms_dtype dtype = model->run->dtype;
    ms_tensor additive = ms_additive_mask(tape, images, patches, patches, dtype);
    ms_consume(tape, result);
    return additive;
}

ms_tensor ms_patch_mask(ms_model *model)
{
    ms_tape *tape = model->tape;
    ms_consume(tape, ms_empty_bytes(tape, 1, MS_DTYPE_BOOL));
    ms_host_waits(tape);
    return has_padding(model) ? make_mask(model) : 0;
}

/* ---- pooling ---- */

void ms_patch_squares(ms_model *model, ms_tensor out[3])
{
    ms_tape *tape = model->tape;
    ms_shape both = of_patches(model, 2), one = of_patches(model, 0);
    ms_shape images = MS_SHAPE(one.dims[0], number(model, 1));
    out[0] = ms_empty(tape, both, MS_DTYPE_I64);
    ms_tensor largest = ms_empty(tape, images, MS_DTYPE_I64);
    ms_transient(tape, one.dims[0].value * 8, MS_DTYPE_I64); /* the places of the largest */
    out[1] = ms_empty(tape, images, MS_DTYPE_I64);
    ms_consume(tape, largest);
    ms_tensor divided = ms_empty(tape, both, MS_DTYPE_I64);
    ms_tensor width = ms_empty(tape, images, MS_DTYPE_I64);
    ms_tensor before = ms_empty(tape, one, MS_DTYPE_I64);
    ms_consume(tape, width);
    out[2] = ms_empty(tape, one, MS_DTYPE_I64);
    ms_consume(tape, before);
    ms_consume(tape, divided);
}

ms_tensor ms_pooled_tokens(ms_model *model, ms_tensor shares)
{
    ms_tape *tape = model->tape;
    if (ms_idle(tape))
        return 0;
    const ms_shape all = ms_info(tape, shares)->shape;
    ms_shape tokens = MS_SHAPE(all.dims[0], all.dims[2]);
    ms_tensor none = ms_empty(tape, all, MS_DTYPE_BOOL);
    ms_tensor empty = ms_empty(tape, tokens, MS_DTYPE_BOOL);
    if (!tape->on_cpu) {
        const ms_reduce_buffers buffers = ms_cuda_all_buffers(
            tape->options.device, all.dims[0].value, all.dims[2].value, all.dims[1].value);
        ms_tensor partial =
            buffers.partial_bytes ? ms_empty_bytes(tape, buffers.partial_bytes, MS_DTYPE_U8) : 0;
        if (partial)
            ms_transient(tape, buffers.semaphore_bytes, MS_DTYPE_I32);
        ms_consume(tape, partial);
    }
    ms_consume(tape, none);
    ms_tensor out = ms_empty(tape, tokens, MS_DTYPE_BOOL);
    ms_consume(tape, empty);
    return out;
}

/* ---- counts, which are compared ---- */

void ms_count_patches(ms_model *model)
{
    ms_tape *tape = model->tape;
    if (ms_idle(tape))
        return;
    const ms_shape places = ms_info(tape, model->image_places)->shape;
    ms_shape patches = MS_SHAPE(places.dims[0], places.dims[1]);
    ms_tensor differ = ms_compare(tape, model->image_places, 0);
    ms_tensor real = ms_empty(tape, patches, MS_DTYPE_BOOL);
    ms_consume(tape, differ);
    ms_tensor sums = ms_empty(tape, MS_SHAPE(places.dims[0]), MS_DTYPE_I64);
    ms_consume(tape, ms_empty(tape, patches, MS_DTYPE_I64));
    ms_consume(tape, ms_floor_divide(tape, sums));
    ms_host_waits(tape);
    ms_consume(tape, real);
}

void ms_count_image_elements(ms_model *model, ms_tensor embeds)
{
    ms_tape *tape = model->tape;
    if (ms_idle(tape))
        return;
    const ms_shape shape = ms_info(tape, embeds)->shape;
    uint64_t tokens = ms_image_count(model) * model->run->images.grid.tokens;
    ms_dim elements = ms_dim_mul(&tape->trace->symbols,
                                 ms_dim_number(&tape->trace->symbols, tokens), model->hidden);
    ms_tensor wide = tape->on_cpu ? 0 : ms_empty(tape, shape, MS_DTYPE_BOOL);
    ms_tensor found = ms_nonzero(tape, &shape, true, elements);
    ms_consume(tape, wide);
    if (ms_idle(tape))
        return;
    ms_tensor taken = ms_empty(tape, MS_SHAPE(elements), (ms_dtype)ms_info(tape, embeds)->dtype);
    ms_consume(tape, found);
    ms_consume(tape, taken);
}
