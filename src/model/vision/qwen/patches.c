/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/vision/qwen/patches.h"

#include "input/config/model/model_config.h"
#include "model/blocks/blocks.h"
#include "torch/ops/ops.h"

/* ---- construction ---- */

ms_qwen_projection ms_qwen_projection_new(ms_model *model, uint32_t parent, ms_dim hidden,
                                          bool has_bias)
{
    ms_symbols *s = &model->tape->trace->symbols;
    const ms_vision_config *vision = &model->config->vision;
    ms_dim side = ms_dim_number(s, vision->patch_size);
    ms_shape shape = MS_SHAPE(hidden, ms_dim_number(s, vision->channels),
                              ms_dim_number(s, vision->frames), side, side);
    uint32_t outer = ms_scope_add(model->tape, parent, "patch_embed", MS_NONE);
    ms_qwen_projection p = {.scope = ms_scope_add(model->tape, outer, "proj", MS_NONE)};
    p.weight = ms_parameter_new(model, p.scope, "weight", shape);
    if (has_bias)
        p.bias = ms_parameter_new(model, p.scope, "bias", MS_SHAPE(hidden));
    return p;
}

ms_qwen_rotary ms_qwen_rotary_new(ms_model *model, uint32_t parent)
{
    const ms_vision_config *vision = &model->config->vision;
    uint64_t half = vision->hidden_size / vision->num_heads / 2;
    ms_shape shape = MS_SHAPE(ms_dim_number(&model->tape->trace->symbols, (half + 1) / 2));
    ms_qwen_rotary r = {.scope = ms_scope_add(model->tape, parent, "rotary_pos_emb", MS_NONE)};
    uint32_t previous = ms_scope_enter(model->tape, r.scope);
    r.inv_freq = ms_buffer_new(model, shape, MS_DTYPE_F32, "inv_freq");
    ms_buffer_new(model, shape, MS_DTYPE_F32, "inv_freq");
    model->tape->scope = previous;
    return r;
}

/* ---- of the tower ---- */

ms_tensor ms_qwen_grid_positions(ms_model *model, const ms_qwen_parts *images)
{
    ms_tape *tape = model->tape;
    ms_symbols *s = &tape->trace->symbols;
    const ms_image_grid *grid = &model->run->images.grid;
    ms_dim patches = ms_dim_number(s, grid->rows * grid->columns), two = ms_dim_number(s, 2);
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *rows = ms_local(&f, 0), *columns = ms_local(&f, 0);
    for (uint32_t i = 0; i < images->count && !ms_idle(tape); i++) {
        ms_tensor along_rows = ms_empty(tape, MS_SHAPE(ms_dim_number(s, grid->rows)), MS_DTYPE_I64);
        ms_tensor along_columns =
            ms_empty(tape, MS_SHAPE(ms_dim_number(s, grid->columns)), MS_DTYPE_I64);
        ms_assign(&f, rows, 0);
        ms_assign(&f, columns, 0);
        ms_assign(&f, rows, ms_empty(tape, MS_SHAPE(patches), MS_DTYPE_I64));
        ms_consume(tape, along_rows);
        ms_assign(&f, columns, ms_empty(tape, MS_SHAPE(patches), MS_DTYPE_I64));
        ms_consume(tape, along_columns);
        ms_tensor pairs = ms_empty(tape, MS_SHAPE(patches, two), MS_DTYPE_I64);
        images->kept[i] = ms_empty(tape, MS_SHAPE(patches, two), MS_DTYPE_I64);
        ms_retain(tape, images->kept[i]);
        ms_consume(tape, pairs);
    }
    ms_tensor all = ms_idle(tape) ? 0 : ms_cat_list(tape, images->count, images->kept, 0);
    ms_retain(tape, all);
    ms_qwen_parts_drop(tape, images);
    ms_locals_end(&f, NULL);
    return ms_unown(tape, all);
}

/* Twice the angles by rows and by columns. */
static ms_tensor recomposed(ms_tape *tape, ms_tensor angles)
{
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *input = ms_argument(&f, angles);
    ms_tensor *by_rows = ms_local(&f, ms_select(tape, *input, 1));
    ms_tensor *by_columns = ms_local(&f, ms_select(tape, *input, 1));
    ms_tensor *both = ms_local(&f, ms_cat2(tape, *by_rows, *by_columns, 1));
    ms_tensor *out = ms_local(&f, ms_cat2(tape, *both, *both, 1));
    return ms_locals_end(&f, out);
}

void ms_qwen_tables(ms_model *model, const ms_qwen_rotary *rotary, ms_tensor positions,
                    ms_tensor out[2])
{
    ms_tape *tape = model->tape;
    bool grad_enabled = tape->grad_enabled;
    uint32_t previous = ms_scope_enter(tape, rotary->scope);
    tape->grad_enabled = false;
    ms_locals f = ms_locals_begin(tape);
    ms_tensor wide = ms_to(tape, ms_unsqueeze(tape, positions, 2), MS_DTYPE_F32);
    ms_tensor frequencies = ms_to(tape, rotary->inv_freq, MS_DTYPE_F32);
    ms_tensor *angles = ms_local(&f, ms_mul(tape, wide, frequencies));
    ms_tensor *cos = ms_local(&f, ms_mul_scalar(tape, ms_cos(tape, *angles)));
    ms_tensor *sin = ms_local(&f, ms_mul_scalar(tape, ms_sin(tape, *angles)));
    ms_assign(&f, cos, recomposed(tape, *cos));
    ms_assign(&f, sin, recomposed(tape, *sin));
    ms_return_both(&f, *cos, *sin, out);
    tape->grad_enabled = grad_enabled;
    tape->scope = previous;
}

ms_tensor ms_qwen_project(ms_model *model, const ms_qwen_projection *module, ms_tensor pixels)
{
    ms_tape *tape = model->tape;
    if (ms_idle(tape))
        return 0;
    const ms_shape kernel = ms_info(tape, module->weight)->shape;
    ms_dim one = {.value = 1}, patches = ms_info(tape, pixels)->shape.dims[0];
    uint32_t previous = ms_scope_enter(tape, module->scope);
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *hidden = ms_argument(&f, pixels);
    ms_assign(
        &f, hidden,
        ms_view(tape, *hidden,
                MS_SHAPE(patches, kernel.dims[1], kernel.dims[2], kernel.dims[3], kernel.dims[4])));
    ms_tensor image = ms_to(tape, *hidden, (ms_dtype)ms_info(tape, module->weight)->dtype);
    ms_tensor made = ms_patches(tape, image, module->weight, module->bias, one, one);
    ms_assign(&f, hidden, ms_view(tape, made, MS_SHAPE(patches, kernel.dims[0])));
    ms_tensor result = ms_locals_end(&f, hidden);
    tape->scope = previous;
    return result;
}

ms_tensor ms_qwen_ends(ms_tape *tape, uint64_t count)
{
    return ms_empty(tape, MS_SHAPE(ms_dim_number(&tape->trace->symbols, count)), MS_DTYPE_I32);
}

/* ---- positions of three grids ---- */

/* arange(length) + start, in three rows. */
static ms_tensor text_positions(ms_tape *tape, uint64_t length)
{
    ms_symbols *s = &tape->trace->symbols;
    ms_tensor range = ms_empty(tape, MS_SHAPE(ms_dim_number(s, length)), MS_DTYPE_I64);
    ms_tensor out =
        ms_empty(tape, MS_SHAPE(ms_dim_number(s, 3), ms_dim_number(s, length)), MS_DTYPE_I64);
    ms_consume(tape, range);
    return out;
}

static ms_tensor image_positions(ms_tape *tape, uint64_t tokens)
{
    ms_symbols *s = &tape->trace->symbols;
    return ms_empty(tape, MS_SHAPE(ms_dim_number(s, 3), ms_dim_number(s, tokens)), MS_DTYPE_I64);
}

/* The positions of one sequence: lists, the last of which stays until the next is made. */
typedef struct sequence_places {
    ms_tensor *parts; /* retained, or 0 */
    uint64_t count;
    ms_tensor *image, *places; /* locals: of the last image, and of the sequence */
} sequence_places;

static void drop_places(ms_tape *tape, const sequence_places *p)
{
    for (uint64_t i = p->count; i-- > 0;) {
        ms_release(tape, p->parts[i]);
        p->parts[i] = 0;
    }
}

/* A token of text before each image, and what is left after the last. */
static void place_sequence(ms_model *model, ms_locals *f, const sequence_places *p)
{
    ms_tape *tape = model->tape;
    uint64_t images = model->run->images.count, tokens = model->run->images.grid.tokens;
    uint64_t rest = model->seq.value - images * tokens - images;
    drop_places(tape, p);
    for (uint64_t i = 0; i < p->count; i++) {
        bool is_image = i % 2 == 1;
        p->parts[i] = is_image ? image_positions(tape, tokens)
                               : text_positions(tape, i == 2 * images ? rest : 1);
        ms_retain(tape, p->parts[i]);
        if (is_image)
            ms_assign(f, p->image, p->parts[i]);
    }
    ms_dim three = ms_dim_number(&tape->trace->symbols, 3);
    ms_assign(f, p->places, ms_empty(tape, MS_SHAPE(three, model->seq), MS_DTYPE_I64));
}

static sequence_places places_of(ms_model *model, ms_locals *f)
{
    uint64_t images = model->run->images.count;
    bool has_rest = model->seq.value > images * (model->run->images.grid.tokens + 1);
    sequence_places p = {.count = 2 * images + (has_rest ? 1 : 0)};
    p.parts = ms_arena_array(model->arena, ms_tensor, p.count);
    if (!p.parts)
        ms_tape_fail(model->tape, MS_ERR_NOMEM);
    p.image = ms_local(f, 0);
    p.places = ms_local(f, 0);
    return p;
}

ms_tensor ms_qwen_positions(ms_model *model)
{
    ms_tape *tape = model->tape;
    ms_dim three = ms_dim_number(&tape->trace->symbols, 3);
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *ids =
        ms_local(&f, ms_empty(tape, MS_SHAPE(three, model->batch, model->seq), MS_DTYPE_I64));
    const sequence_places p = places_of(model, &f);
    for (uint64_t i = 0; i < model->batch.value && !ms_idle(tape); i++)
        place_sequence(model, &f, &p);
    ms_tensor moved = ms_empty(tape, MS_SHAPE(model->batch), MS_DTYPE_I64);
    ms_retain(tape, moved);
    if (p.parts)
        drop_places(tape, &p);
    ms_tensor result = ms_locals_end(&f, ids);
    ms_release(tape, model->position_shift);
    model->position_shift = moved;
    ms_host_waits(tape); /* it reads the grids */
    return result;
}
