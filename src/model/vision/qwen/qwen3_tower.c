/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/vision/qwen/qwen3_tower.h"

#include "model/blocks/blocks.h"
#include "model/blocks/images.h"
#include "model/vision/qwen/attention.h"
#include "model/vision/qwen/patches.h"
#include "torch/ops/ops.h"

/* ---- interpolation ---- */

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
static void qwen_interpolate(ms_model *model, ms_tensor out[2])
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

/* ---- qwen3 tower ---- */

static const ms_qwen_block_form form = {.first = "linear_fc1", .last = "linear_fc2"};

typedef struct merger {
    uint32_t scope;
    bool is_deep; /* its norm sees merged patches */
    ms_norm_module norm;
    ms_linear_module fc1, fc2;
} merger;

typedef struct tower {
    uint32_t scope, positions_scope;
    ms_qwen_projection projection;
    ms_qwen_rotary rotary;
    ms_tensor positions;
    ms_qwen_block *blocks;
    merger last, *deep;
    ms_qwen_parts images;
    ms_qwen_places places; /* of the running pass */
    ms_dim hidden, merged, out;
} tower;

/* ---- construction ---- */

static uint32_t child(ms_model *model, uint32_t parent, const char *name)
{
    return ms_scope_add(model->tape, parent, name, MS_NONE);
}

static bool has_merger(const ms_vision_config *vision, uint64_t number)
{
    return vision->marked_blocks[number / 64] >> number % 64 & 1;
}

uint32_t ms_qwen_deep_count(const ms_vision_config *vision)
{
    uint32_t count = 0;
    for (uint64_t i = 0; i < MS_MOST_BLOCKS; i++)
        count += has_merger(vision, i);
    return count;
}

static merger merger_new(ms_model *model, const tower *t, uint32_t scope, bool is_deep)
{
    merger m = {.scope = scope, .is_deep = is_deep};
    m.norm = ms_norm_new(model, scope, "norm", is_deep ? t->merged : t->hidden, true);
    m.fc1 = ms_linear_new(model, scope, "linear_fc1", t->merged, t->merged, true);
    m.fc2 = ms_linear_new(model, scope, "linear_fc2", t->merged, t->out, true);
    return m;
}

static tower *tower_new(ms_model *model)
{
    ms_symbols *s = &model->tape->trace->symbols;
    const ms_vision_config *vision = &model->config->vision;
    tower *t = ms_arena_array(model->arena, tower, 1);
    merger *deep = ms_arena_array(model->arena, merger, ms_qwen_deep_count(vision) + 1);
    if (!t || !deep)
        return NULL;
    *t = (tower){.deep = deep, .places.parts = &t->images};
    t->hidden = ms_dim_name(s, "Hv", vision->hidden_size);
    t->merged = ms_dim_number(s, vision->hidden_size * vision->merge_size * vision->merge_size);
    t->out = ms_dim_name(s, "Ov", vision->out_size);
    return t;
}

bool ms_qwen_vision_new(ms_model *model, uint32_t parent)
{
    ms_symbols *s = &model->tape->trace->symbols;
    const ms_vision_config *vision = &model->config->vision;
    tower *t = model->tower = tower_new(model);
    if (!t)
        return false;
    t->scope = child(model, parent, "visual");
    uint32_t first = model->tape->parameters.count, count = ms_qwen_deep_count(vision);
    t->projection = ms_qwen_projection_new(model, t->scope, t->hidden, true);
    t->positions = ms_embedding_new(model, t->scope, "pos_embed",
                                    ms_dim_number(s, vision->positions), t->hidden);
    t->positions_scope = model->tape->trace->scopes.count - 1;
    t->rotary = ms_qwen_rotary_new(model, t->scope);
    t->blocks = ms_qwen_blocks_new(model, &form, t->scope, t->hidden, &t->places);
    if (!t->blocks)
        return false;
    t->last = merger_new(model, t, child(model, t->scope, "merger"), false);
    uint32_t deep = count ? child(model, t->scope, "deepstack_merger_list") : 0;
    for (uint32_t i = 0; i < count && model->tape->status == MS_OK; i++)
        t->deep[i] = merger_new(model, t, ms_qwen_numbered(model, deep, i), true);
    if (model->run->images.frozen && !model->run->adapter) /* which freezes by itself */
        ms_parameters_freeze(model, first, model->tape->parameters.count);
    return model->run->images.count == 0 || ms_qwen_images_list(model, &t->images);
}

/* ---- forward ---- */

static ms_tensor merge(ms_model *model, const tower *t, const merger *m, ms_tensor x)
{
    ms_tape *tape = model->tape;
    ms_symbols *s = &tape->trace->symbols;
    if (ms_idle(tape) || !x)
        return 0;
    ms_dim tokens = ms_dim_number(s, t->images.count * model->run->images.grid.tokens);
    ms_shape rows = MS_SHAPE(tokens, t->merged);
    uint32_t previous = ms_scope_enter(tape, m->scope);
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *hidden = ms_argument(&f, x);
    ms_tensor seen = m->is_deep ? ms_view(tape, *hidden, rows) : *hidden;
    ms_assign(&f, hidden, ms_view(tape, ms_layer_norm_call(model, &m->norm, seen), rows));
    ms_tensor middle = ms_gelu(tape, ms_linear_call(model, &m->fc1, *hidden));
    ms_assign(&f, hidden, ms_linear_call(model, &m->fc2, middle));
    ms_tensor result = ms_locals_end(&f, hidden);
    tape->scope = previous;
    return result;
}

/* (pos_embed(indices) * weights).sum(1), fp32 [patches, Hv]. */
static ms_tensor learned_positions(ms_model *model, const tower *t, ms_tensor indices,
                                   ms_tensor weights)
{
    ms_tape *tape = model->tape;
    uint32_t previous = ms_scope_enter(tape, t->positions_scope);
    ms_tensor rows = ms_embedding(tape, t->positions, indices);
    tape->scope = previous;
    return ms_sum_dim(tape, ms_mul(tape, rows, ms_unsqueeze(tape, weights, 2)), 1, false);
}

static ms_tensor run_blocks(ms_model *model, const tower *t, ms_locals *f, ms_tensor *hidden,
                            ms_tensor *deep)
{
    uint32_t done = 0;
    for (uint64_t i = 0; i < model->config->vision.num_layers && !ms_idle(model->tape); i++) {
        ms_assign(f, hidden, ms_qwen_block_call(&t->blocks[i], *hidden));
        if (has_merger(&model->config->vision, i)) {
            deep[done] = merge(model, t, &t->deep[done], *hidden);
            ms_retain(model->tape, deep[done++]);
        }
    }
    return merge(model, t, &t->last, *hidden);
}

ms_qwen_vision_result ms_qwen_vision_run(ms_model *model, ms_tensor pixels, ms_tensor *deep)
{
    ms_tape *tape = model->tape;
    tower *t = model->tower;
    uint32_t previous = ms_scope_enter(tape, t->scope);
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *hidden = ms_argument(&f, pixels), taps[2], tables[2] = {0}, result[2];
    qwen_interpolate(model, taps);
    ms_tensor *indices = ms_local(&f, taps[0]), *weights = ms_local(&f, taps[1]);
    ms_tensor *places = ms_local(&f, ms_image_grid_places(model));
    t->places.ends = *ms_local(&f, ms_qwen_ends(tape, t->images.count + 1));
    ms_assign(&f, hidden, ms_qwen_project(model, &t->projection, *hidden));
    ms_tensor *learned = ms_local(&f, learned_positions(model, t, *indices, *weights));
    if (!ms_idle(tape) && *hidden)
        ms_assign(
            &f, hidden,
            ms_add(tape, *hidden, ms_to(tape, *learned, (ms_dtype)ms_info(tape, *hidden)->dtype)));
    ms_qwen_tables(model, &t->rotary, *places, tables);
    t->places.cos = *ms_local(&f, tables[0]);
    t->places.sin = *ms_local(&f, tables[1]);
    ms_tensor *merged = ms_local(&f, 0);
    ms_assign(&f, merged, run_blocks(model, t, &f, hidden, deep));
    ms_return_both(&f, *hidden, *merged, result);
    tape->scope = previous;
    return (ms_qwen_vision_result){.last = result[0], .merged = result[1]};
}
