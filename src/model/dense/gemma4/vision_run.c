/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A pass over Gemma 4's tower for pictures, but for its layers.
 */
#include "model/dense/gemma4/vision_run.h"

#include "input/config/model/model_config.h"
#include "torch/autograd/cuda_reduce.h"
#include "model/dense/gemma4/vision_layers.h"
#include "model/blocks/images.h"
#include "torch/ops/attention/attention.h"
#include "torch/ops/moe/routing.h"
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

/* Which patches are padding: [images, patches]. */
static ms_tensor find_padding(ms_model *model)
{
    ms_tape *tape = model->tape;
    ms_tensor equal = ms_compare(tape, model->image_places, 0);
    ms_tensor both = ms_empty(tape, of_patches(model, 0), MS_DTYPE_BOOL);
    ms_consume(tape, equal);
    return both;
}

/* ---- patches ---- */

/* Rows of a part of the table of positions. */
static ms_tensor look_up(ms_model *model, ms_tensor places)
{
    ms_tape *tape = model->tape;
    const ms_gemma4_tower *t = model->tower;
    ms_tensor indices = ms_select(tape, places, 2);
    return ms_embedding(tape, ms_select(tape, t->positions, 0), indices);
}

static ms_tensor positions_of(ms_model *model, ms_tensor padding)
{
    ms_tape *tape = model->tape;
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *clamped = ms_local(&f, ms_empty(tape, of_patches(model, 2), MS_DTYPE_I64));
    ms_tensor *x = ms_local(&f, look_up(model, *clamped));
    ms_tensor *y = ms_local(&f, look_up(model, *clamped));
    ms_tensor *both = ms_local(&f, ms_add(tape, *x, *y));
    ms_assign(&f, both, ms_where_number(tape, ms_unsqueeze(tape, padding, 2), *both));
    return ms_locals_end(&f, both);
}

static ms_tensor embed(ms_model *model, ms_tensor padding)
{
    ms_tape *tape = model->tape;
    const ms_gemma4_tower *t = model->tower;
    uint32_t previous = ms_scope_enter(tape, t->patches_scope);
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *pixels = ms_local(&f, 0), *hidden = ms_local(&f, 0), *positions = ms_local(&f, 0);
    ms_assign(&f, pixels, ms_mul_scalar(tape, ms_add_scalar(tape, model->pixel_values)));
    if (!ms_idle(tape))
        ms_assign(&f, pixels,
                  ms_to(tape, *pixels, (ms_dtype)ms_info(tape, t->projection.weight)->dtype));
    ms_assign(&f, hidden, ms_linear_call(model, &t->projection, *pixels));
    ms_assign(&f, positions, positions_of(model, padding));
    ms_tensor *out = ms_local(&f, ms_idle(tape) ? 0 : ms_add(tape, *hidden, *positions));
    ms_tensor result = ms_locals_end(&f, out);
    tape->scope = previous;
    return result;
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

/* seen[image, key]: on a GPU indices with other strides than they broadcast to are copied. */
static ms_tensor seen_keys(ms_model *model)
{
    ms_tape *tape = model->tape;
    ms_shape shape = of_patches(model, 0);
    ms_tensor images = tape->on_cpu ? 0 : ms_empty(tape, shape, MS_DTYPE_I64);
    bool copies_keys = !tape->on_cpu && ms_image_count(model) > 1;
    ms_tensor keys = copies_keys ? ms_empty(tape, shape, MS_DTYPE_I64) : 0;
    ms_tensor out = ms_empty(tape, shape, MS_DTYPE_BOOL);
    ms_consume(tape, keys);
    ms_consume(tape, images);
    return out;
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
    ms_tensor seen = seen_keys(model);
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

/* Without padding, which is read, no mask is made. */
static void choose_mask(ms_model *model, ms_locals *f, ms_tensor *mask)
{
    ms_tape *tape = model->tape;
    ms_consume(tape, ms_empty_bytes(tape, 1, MS_DTYPE_BOOL));
    ms_host_waits(tape);
    if (has_padding(model))
        ms_assign(f, mask, make_mask(model));
}

/* ---- tables of the heads ---- */

/* values = cat([columns, columns, rows, rows]) */
static void recompose(ms_model *model, ms_locals *f, ms_tensor *values)
{
    const ms_gemma4_tower *t = model->tower;
    ms_assign(f, values, ms_empty(model->tape, of_patches(model, t->head_dim.value), MS_DTYPE_F32));
}

static void make_tables(ms_model *model, ms_dtype dtype, ms_tensor out[2])
{
    ms_tape *tape = model->tape;
    const ms_gemma4_tower *t = model->tower;
    out[0] = out[1] = 0;
    if (ms_idle(tape))
        return;
    uint32_t previous = ms_scope_enter(tape, t->rotary_scope);
    ms_locals f = ms_locals_begin(tape);
    ms_shape shape = of_patches(model, 2);
    ms_tensor numbers = ms_empty(tape, shape, MS_DTYPE_F32);
    ms_tensor wide = ms_to(tape, t->inv_freq, MS_DTYPE_F32);
    shape.dims[shape.rank++] = ms_info(tape, t->inv_freq)->shape.dims[0];
    ms_tensor *angles = ms_local(&f, ms_empty(tape, shape, MS_DTYPE_F32));
    ms_consume(tape, numbers);
    ms_consume(tape, wide);
    ms_tensor *cos = ms_local(&f, ms_mul_scalar(tape, ms_cos(tape, *angles)));
    ms_tensor *sin = ms_local(&f, ms_mul_scalar(tape, ms_sin(tape, *angles)));
    recompose(model, &f, cos);
    recompose(model, &f, sin);
    ms_tensor cast = ms_to(tape, *cos, dtype);
    ms_retain(tape, cast);
    out[1] = ms_to(tape, *sin, dtype);
    out[0] = cast;
    ms_retain(tape, out[1]);
    ms_locals_end(&f, NULL);
    ms_unown(tape, out[0]);
    ms_unown(tape, out[1]);
    tape->scope = previous;
}

static ms_tensor encode(ms_model *model, ms_tensor embedded)
{
    ms_tape *tape = model->tape;
    ms_gemma4_tower *t = model->tower;
    uint32_t previous = ms_scope_enter(tape, t->encoder_scope);
    ms_tensor tables[2];
    ms_locals outer = ms_locals_begin(tape);
    ms_local(&outer, ms_empty(tape, of_patches(model, 0), MS_DTYPE_BOOL)); /* ~padding */
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *mask = ms_local(&f, 0);
    choose_mask(model, &f, mask);
    make_tables(model, ms_idle(tape) ? MS_DTYPE_F32 : (ms_dtype)ms_info(tape, embedded)->dtype,
                tables);
    t->mask = *mask;
    t->sin = *ms_local(&f, tables[1]); /* a tuple drops its last item first */
    t->cos = *ms_local(&f, tables[0]);
    ms_tensor *hidden = ms_local(&f, ms_gemma4_vision_layers(model, embedded));
    ms_tensor result = ms_locals_end(&f, hidden);
    ms_retain(tape, result);
    ms_locals_end(&outer, NULL);
    tape->scope = previous;
    return ms_unown(tape, result);
}

/* ---- pooling ---- */

/* In which square of patches each is: [images, patches], a local of `f`, with what it is made of.
 */
static ms_tensor *squares_of(ms_model *model, ms_locals *f)
{
    ms_tape *tape = model->tape;
    ms_shape both = of_patches(model, 2), one = of_patches(model, 0);
    ms_shape images = MS_SHAPE(one.dims[0], number(model, 1));
    ms_local(f, ms_empty(tape, both, MS_DTYPE_I64)); /* clamped */
    ms_tensor largest = ms_empty(tape, images, MS_DTYPE_I64);
    ms_transient(tape, one.dims[0].value * 8, MS_DTYPE_I64); /* the places of the largest */
    ms_local(f, ms_empty(tape, images, MS_DTYPE_I64));
    ms_consume(tape, largest);
    ms_tensor divided = ms_empty(tape, both, MS_DTYPE_I64);
    ms_tensor width = ms_empty(tape, images, MS_DTYPE_I64);
    ms_tensor before = ms_empty(tape, one, MS_DTYPE_I64);
    ms_consume(tape, width);
    ms_tensor *squares = ms_local(f, ms_empty(tape, one, MS_DTYPE_I64));
    ms_consume(tape, before);
    ms_consume(tape, divided);
    return squares;
}

/* The share of each patch in each token, [images, tokens, patches] as a view; a local of `f`. */
static ms_tensor shares_of(ms_model *model, ms_locals *f, ms_tensor squares)
{
    ms_tape *tape = model->tape;
    uint64_t pool = model->config->vision.pool_size;
    ms_dim tokens = number(model, model->run->images.grid.stored / (pool * pool));
    ms_tensor *shares = ms_local(
        f, ms_div_scalar(tape, ms_to(tape, ms_one_hot(tape, squares, tokens), MS_DTYPE_F32)));
    return *shares;
}

/* ~(shares == 0).all(dim=1): which tokens have patches, [images, tokens]. */
static ms_tensor find_tokens(ms_model *model, ms_tensor shares)
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

/* _avg_pool_by_positions: [images, tokens, Hv] in the type of x; *mask: which are real, retained.
 */
static ms_tensor pool(ms_model *model, ms_tensor x, ms_tensor *mask)
{
    ms_tape *tape = model->tape;
    *mask = 0;
    if (ms_idle(tape) || !x)
        return 0;
    ms_dtype dtype = (ms_dtype)ms_info(tape, x)->dtype;
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *squares = squares_of(model, &f);
    ms_tensor shares = shares_of(model, &f, *squares);
    ms_tensor *out = ms_local(&f, ms_idle(tape) ? 0
                                                : ms_bmm(tape, ms_transpose(tape, shares, 1, 2),
                                                         ms_to(tape, x, MS_DTYPE_F32)));
    *mask = find_tokens(model, shares);
    ms_retain(tape, *mask);
    ms_tensor cast = ms_idle(tape) ? 0 : ms_to(tape, *out, dtype);
    ms_retain(tape, cast);
    ms_locals_end(&f, NULL);
    return ms_unown(tape, cast);
}

/* Gemma4VisionPooler.forward: in fp32. */
static ms_tensor pool_padded(ms_model *model, ms_tensor x, ms_tensor padding, ms_tensor *mask)
{
    ms_tape *tape = model->tape;
    const ms_gemma4_tower *t = model->tower;
    uint32_t previous = ms_scope_enter(tape, t->pooler_scope);
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *hidden = ms_local(&f, ms_masked_fill(tape, x, ms_unsqueeze(tape, padding, 2)));
    ms_assign(&f, hidden, pool(model, *hidden, mask));
    ms_assign(&f, hidden,
              ms_idle(tape) ? 0 : ms_mul_scalar(tape, ms_to(tape, *hidden, MS_DTYPE_F32)));
    ms_tensor result = ms_locals_end(&f, hidden);
    tape->scope = previous;
    return result;
}

/* (hidden - std_bias.float()) * std_scale.float() */
static void standardize(ms_model *model, ms_locals *f, ms_tensor *hidden)
{
    ms_tape *tape = model->tape;
    const ms_gemma4_tower *t = model->tower;
    if (!t->std_bias || ms_idle(tape))
        return;
    ms_tensor moved = ms_sub(tape, *hidden, ms_to(tape, t->std_bias, MS_DTYPE_F32));
    ms_assign(f, hidden, ms_mul(tape, moved, ms_to(tape, t->std_scale, MS_DTYPE_F32)));
}

/* ---- all of it ---- */

ms_tensor ms_gemma4_vision_run(ms_model *model)
{
    ms_tape *tape = model->tape;
    const ms_gemma4_tower *t = model->tower;
    const ms_run_images *images = &model->run->images;
    ms_dim tokens = number(model, ms_image_count(model) * images->grid.tokens);
    ms_tensor kept;
    uint32_t previous = ms_scope_enter(tape, t->scope);
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *padding = ms_local(&f, find_padding(model));
    ms_tensor *embedded = ms_local(&f, embed(model, *padding));
    ms_tensor *encoded = ms_local(&f, encode(model, *embedded)), *hidden = ms_local(&f, 0);
    ms_assign(&f, hidden, pool_padded(model, *encoded, *padding, &kept));
    ms_local(&f, kept);
    ms_release(tape, kept);
    ms_assign(&f, hidden, ms_index_mask(tape, *hidden, kept, tokens));
    standardize(model, &f, hidden);
    if (!ms_idle(tape))
        ms_assign(&f, hidden, ms_to(tape, *hidden, (ms_dtype)ms_info(tape, *embedded)->dtype));
    ms_tensor result = ms_locals_end(&f, hidden);
    tape->scope = previous;
    return result;
}
