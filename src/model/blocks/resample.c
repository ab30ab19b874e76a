/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/blocks/resample.h"

#include "model/blocks/images.h"
#include "torch/ops/ops.h"

/* How a square table of learned positions is resampled to the grids of images. */

enum { TAPS = 2 }; /* along each axis */

static ms_dim number(ms_model *model, uint64_t value)
{
    return ms_dim_number(&model->tape->trace->symbols, value);
}

static ms_dim patches_of(ms_model *model)
{
    const ms_image_grid *grid = &model->run->images.grid;
    return number(model, ms_image_count(model) * grid->rows * grid->columns);
}

static ms_tensor numbers(ms_model *model, ms_dim count, ms_dtype dtype)
{
    return ms_empty(model->tape, MS_SHAPE(count), dtype);
}

/* repeat_interleave(values, counts): the sums of the counts, and indices. */
static ms_tensor repeated(ms_model *model)
{
    ms_tape *tape = model->tape;
    ms_dim images = number(model, ms_image_count(model)), patches = patches_of(model);
    ms_tensor sums = numbers(model, images, MS_DTYPE_I64);
    if (!tape->on_cpu)
        ms_transient(tape, ms_cub_scan_bytes(images.value), MS_DTYPE_U8);
    ms_tensor indices = numbers(model, patches, MS_DTYPE_I64);
    ms_consume(tape, sums);
    ms_tensor out = numbers(model, patches, MS_DTYPE_I64);
    ms_consume(tape, indices);
    ms_host_waits(tape); /* their number is read */
    return out;
}

/* The result of an operator of two numbers of each patch whose first one's result goes with it. */
static ms_tensor after(ms_model *model, ms_tensor first)
{
    ms_tensor out = numbers(model, patches_of(model), MS_DTYPE_I64);
    ms_consume(model->tape, first);
    return out;
}

static ms_tensor plain(ms_model *model)
{
    return numbers(model, patches_of(model), MS_DTYPE_I64);
}

/* _interpolation_axis_taps_weights: out[0], taps, int64 [patches, 2], out[1], weights; retained. */
static void interpolate_axis(ms_model *model, ms_tensor out[2])
{
    ms_tape *tape = model->tape;
    ms_dim patches = patches_of(model), taps = number(model, TAPS);
    ms_shape pairs = MS_SHAPE(patches, taps);
    ms_locals f = ms_locals_begin(tape);
    ms_local(&f, numbers(model, patches, MS_DTYPE_F32)); /* the index */
    ms_tensor scaled = numbers(model, patches, MS_DTYPE_F32);
    ms_tensor size = ms_clamp(tape, plain(model), 1);
    ms_local(&f, numbers(model, patches, MS_DTYPE_F32)); /* where it is in the table */
    ms_consume(tape, scaled);
    ms_consume(tape, size);
    ms_local(&f, numbers(model, patches, MS_DTYPE_F32)); /* its floor */
    ms_local(&f, numbers(model, taps, MS_DTYPE_I64));
    ms_tensor whole = plain(model);
    ms_tensor *raw = ms_local(&f, ms_empty(tape, pairs, MS_DTYPE_I64));
    ms_consume(tape, whole);
    out[0] = ms_clamp(tape, *raw, 2);
    ms_retain(tape, out[0]);
    ms_tensor fraction = numbers(model, patches, MS_DTYPE_F32);
    ms_tensor distance = ms_empty(tape, pairs, MS_DTYPE_F32);
    ms_consume(tape, fraction);
    ms_tensor *absolute = ms_local(&f, ms_empty(tape, pairs, MS_DTYPE_F32));
    ms_consume(tape, distance);
    out[1] = ms_clamp(tape, ms_add_scalar(tape, *absolute), 1);
    ms_retain(tape, out[1]);
    ms_locals_end(&f, NULL);
}

/* The row and the column of each patch in its image, locals of `f`. */
static void decode(ms_model *model, ms_locals *f)
{
    enum { OF_TWO = 5 };
    ms_local(f, plain(model)); /* blocks in a row */
    ms_local(f, plain(model)); /* columns within a block */
    /* Rows within a block, columns and rows of blocks, then rows and columns. */
    for (int i = 0; i < OF_TWO; i++)
        ms_local(f, after(model, plain(model)));
}

/* indices [patches, 2, 1] * side + indices [patches, 1, 2], and the products of weights. */
static void join(ms_model *model, ms_tensor out[2])
{
    ms_tape *tape = model->tape;
    ms_dim patches = patches_of(model), taps = number(model, TAPS);
    ms_dim all = number(model, (uint64_t)TAPS * TAPS);
    ms_tensor scaled = ms_empty(tape, MS_SHAPE(patches, taps), MS_DTYPE_I64);
    out[0] = ms_empty(tape, MS_SHAPE(patches, all), MS_DTYPE_I64);
    ms_consume(tape, scaled);
    out[1] = ms_empty(tape, MS_SHAPE(patches, all), MS_DTYPE_F32);
}

/* get_vision_interpolation_indices_and_weights, bilinear: out[0], four rows of the table for each
 * patch, int64 [patches, 4], and out[1], their weights in fp32; floating. */
void ms_resampled_places(ms_model *model, ms_tensor out[2])
{
    ms_tape *tape = model->tape;
    ms_dim images = number(model, ms_image_count(model));
    ms_tensor rows[2] = {0}, columns[2] = {0};
    ms_locals f = ms_locals_begin(tape);
    ms_tensor product = numbers(model, images, MS_DTYPE_I64);
    ms_local(&f, numbers(model, images, MS_DTYPE_I64)); /* patches of each image */
    ms_consume(tape, product);
    ms_local(&f, repeated(model)); /* heights */
    ms_local(&f, repeated(model)); /* widths */
    ms_local(&f, repeated(model)); /* where images start */
    ms_tensor range = plain(model), within = after(model, range), area = plain(model);
    ms_local(&f, after(model, within));
    ms_consume(tape, area);
    decode(model, &f);
    interpolate_axis(model, rows);
    interpolate_axis(model, columns);
    join(model, out);
    ms_retain(tape, out[0]);
    ms_retain(tape, out[1]);
    ms_locals_end(&f, NULL);
    for (int i = 0; i < 2; i++) {
        ms_release(tape, rows[i]);
        ms_release(tape, columns[i]);
        out[i] = ms_unown(tape, out[i]);
    }
}
