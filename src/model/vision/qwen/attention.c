/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/vision/qwen/attention.h"

#include <stdio.h>

#include "input/config/model/model_config.h"
#include "model/blocks/blocks.h"
#include "model/blocks/images.h"
#include "torch/ops/ops.h"
#include "torch/treatments/recompute.h"

/* ---- attention ---- */

static ms_qwen_attention qwen_attention_new(ms_model *model, uint32_t parent, ms_dim hidden)
{
    ms_dim three = ms_dim_number(&model->tape->trace->symbols, 3 * hidden.value);
    ms_qwen_attention a = {.scope = ms_scope_add(model->tape, parent, "attn", MS_NONE)};
    a.qkv = ms_linear_new(model, a.scope, "qkv", hidden, three, true);
    a.proj = ms_linear_new(model, a.scope, "proj", hidden, hidden, true);
    return a;
}

/* ---- parts ---- */

static bool parts_new(ms_model *model, ms_qwen_parts *parts, uint64_t count)
{
    parts->count = (uint32_t)count;
    parts->lengths = ms_arena_array(model->arena, ms_dim, count);
    parts->kept = ms_arena_array(model->arena, ms_tensor, count);
    bool done = parts->lengths && parts->kept;
    for (int i = 0; i < 3 && done; i++) {
        parts->split[i] = ms_arena_array(model->arena, ms_tensor, count);
        done = parts->split[i] != NULL;
    }
    return done;
}

bool ms_qwen_images_list(ms_model *model, ms_qwen_parts *parts)
{
    const ms_image_grid *grid = &model->run->images.grid;
    uint64_t images = ms_image_count(model);
    if (!parts_new(model, parts, images))
        return false;
    parts->listed = images;
    for (uint64_t i = 0; i < images; i++)
        parts->lengths[i] = ms_dim_number(&model->tape->trace->symbols, grid->rows * grid->columns);
    return true;
}

void ms_qwen_parts_drop(ms_tape *tape, const ms_qwen_parts *parts)
{
    for (uint32_t i = parts->count; i-- > 0;) {
        ms_release(tape, parts->kept[i]);
        parts->kept[i] = 0;
    }
}

/* ---- turning ---- */

static ms_tensor rotate_half(ms_tape *tape, ms_tensor x)
{
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *lower = ms_local(&f, ms_slice_half(tape, x, false));
    ms_tensor *upper = ms_local(&f, ms_slice_half(tape, x, true));
    ms_tensor *rotated = ms_local(&f, ms_cat2(tape, ms_neg(tape, *upper), *lower, 2));
    return ms_locals_end(&f, rotated);
}

static ms_tensor turned(ms_tape *tape, ms_tensor x, ms_tensor cos, ms_tensor sin)
{
    ms_tensor plain = ms_mul(tape, x, cos);
    ms_retain(tape, plain);
    ms_tensor other = ms_mul(tape, rotate_half(tape, x), sin);
    return ms_add(tape, ms_unown(tape, plain), other);
}

/* apply_rotary_pos_emb_vision: in fp32, then cast back. */
static void turn_both(ms_tape *tape, ms_tensor query, ms_tensor key, const ms_qwen_places *places,
                      ms_tensor out[2])
{
    out[0] = out[1] = 0;
    if (ms_idle(tape) || !query || !key)
        return;
    ms_dtype dtype = (ms_dtype)ms_info(tape, query)->dtype;
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *q = ms_local(&f, ms_to(tape, query, MS_DTYPE_F32));
    ms_tensor *k = ms_local(&f, ms_to(tape, key, MS_DTYPE_F32));
    ms_tensor *cos = ms_local(&f, ms_unsqueeze(tape, places->cos, 1));
    ms_tensor *sin = ms_local(&f, ms_unsqueeze(tape, places->sin, 1));
    ms_tensor *q_out = ms_local(&f, turned(tape, *q, *cos, *sin));
    ms_tensor *k_out = ms_local(&f, turned(tape, *k, *cos, *sin));
    ms_assign(&f, q_out, ms_to(tape, *q_out, dtype));
    ms_assign(&f, k_out, ms_to(tape, *k_out, dtype));
    ms_return_both(&f, *q_out, *k_out, out);
}

/* ---- all of it ---- */

/* Views of a [3, patches, heads, width] tensor, locals of `f`. */
static void take_heads(ms_model *model, const ms_qwen_attention *module, ms_locals *f, ms_tensor x,
                       ms_tensor *q_k_v[3])
{
    ms_tape *tape = model->tape;
    ms_symbols *s = &tape->trace->symbols;
    const ms_vision_config *vision = &model->config->vision;
    ms_tensor parts[3] = {0};
    if (!ms_idle(tape) && x) {
        ms_dim patches = ms_info(tape, x)->shape.dims[0];
        ms_shape shape = MS_SHAPE(patches, ms_dim_number(s, 3), ms_dim_number(s, vision->num_heads),
                                  ms_dim_number(s, vision->hidden_size / vision->num_heads));
        ms_tensor all = ms_reshape(tape, ms_linear_call(model, &module->qkv, x), shape);
        ms_unbind(tape, ms_transpose(tape, all, 0, 1), 0, 3, parts);
    }
    for (int i = 0; i < 3; i++)
        q_k_v[i] = ms_local(f, parts[i]);
}

/* [patches, heads, width] to [1, heads, patches, width] */
static ms_tensor as_batch(ms_tape *tape, ms_tensor x)
{
    return ms_unsqueeze(tape, ms_transpose(tape, x, 0, 1), 0);
}

/* Runs each part and joins the results, a local of `f`: [1, patches, heads, width]. */
static ms_tensor *attend_parts(ms_model *model, ms_locals *f, const ms_qwen_parts *parts,
                               ms_tensor *const q_k_v[3])
{
    ms_tape *tape = model->tape;
    ms_attention backend = ms_tower_backend(model);
    for (int i = 0; i < 3; i++) {
        ms_split_sizes(tape, *q_k_v[i], 2, parts->count, parts->lengths, parts->split[i]);
        for (uint32_t p = 0; p < parts->count; p++)
            ms_retain(tape, parts->split[i][p]);
    }
    for (uint32_t p = 0; p < parts->count && !ms_idle(tape); p++) {
        ms_tensor q = parts->split[0][p], k = parts->split[1][p], v = parts->split[2][p];
        parts->kept[p] = ms_tower_attend(tape, backend, q, k, v);
        ms_retain(tape, parts->kept[p]);
    }
    return ms_local(f, ms_idle(tape) ? 0 : ms_cat_list(tape, parts->count, parts->kept, 1));
}

static void drop_parts(ms_tape *tape, const ms_qwen_parts *parts)
{
    for (int i = 2; i >= 0; i--) /* as a list drops its items */
        for (uint32_t p = 0; p < parts->count; p++)
            ms_release(tape, parts->split[i][p]);
    ms_qwen_parts_drop(tape, parts);
}

/* [patches, Hv] to the same. */
static ms_tensor qwen_attend(ms_model *model, const ms_qwen_attention *module,
                             const ms_qwen_places *places, ms_tensor x)
{
    ms_tape *tape = model->tape;
    const ms_qwen_parts *parts = places->parts;
    ms_symbols *s = &tape->trace->symbols;
    uint32_t previous = ms_scope_enter(tape, module->scope);
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *hidden = ms_argument(&f, x), *q_k_v[3];
    take_heads(model, module, &f, *hidden, q_k_v);
    ms_tensor turned_both[2];
    turn_both(tape, *q_k_v[0], *q_k_v[1], places, turned_both);
    ms_assign(&f, q_k_v[0], turned_both[0]);
    ms_assign(&f, q_k_v[1], turned_both[1]);
    for (int i = 0; i < 3; i++)
        ms_assign(&f, q_k_v[i], as_batch(tape, *q_k_v[i]));
    ms_tensor *lengths =
        ms_local(&f, ms_empty(tape, MS_SHAPE(ms_dim_number(s, parts->count)), MS_DTYPE_I32));
    ms_tensor *out = attend_parts(model, &f, parts, q_k_v);
    if (!ms_idle(tape)) {
        ms_dim patches = ms_info(tape, *hidden)->shape.dims[0];
        ms_dim width = ms_info(tape, *hidden)->shape.dims[1];
        ms_assign(&f, out, ms_contiguous(tape, ms_reshape(tape, *out, MS_SHAPE(patches, width))));
    }
    ms_assign(&f, out, ms_linear_call(model, &module->proj, *out));
    for (int i = 0; i < 3; i++)
        ms_assign(&f, q_k_v[i], 0);
    ms_assign(&f, lengths, 0);
    drop_parts(tape, parts);
    ms_tensor result = ms_locals_end(&f, out);
    tape->scope = previous;
    return result;
}

/* ---- norms ---- */

ms_norm_module ms_qwen_norm_new(ms_model *model, const ms_qwen_block_form *form, uint32_t parent,
                                const char *name, ms_dim width)
{
    return ms_norm_new(model, parent, name, width, !form->is_rms);
}

ms_tensor ms_qwen_norm_call(ms_model *model, const ms_qwen_block_form *form,
                            const ms_norm_module *module, ms_tensor x)
{
    return form->is_rms ? ms_rms_norm_call(model, module, x) : ms_layer_norm_call(model, module, x);
}

/* ---- construction ---- */

uint32_t ms_qwen_numbered(ms_model *model, uint32_t parent, uint64_t number)
{
    char name[24];
    snprintf(name, sizeof name, "%u", (unsigned)number);
    return ms_scope_add(model->tape, parent, name, MS_NONE);
}

static void mlp_new(ms_model *model, ms_qwen_block *b, ms_dim hidden)
{
    const ms_qwen_block_form *form = b->form;
    ms_dim middle =
        ms_dim_name(&model->tape->trace->symbols, "Iv", model->config->vision.intermediate_size);
    b->mlp_scope = ms_scope_add(model->tape, b->scope, "mlp", MS_NONE);
    if (form->gate)
        b->gate = ms_linear_new(model, b->mlp_scope, form->gate, hidden, middle, true);
    b->first = ms_linear_new(model, b->mlp_scope, form->first, hidden, middle, true);
    b->last = ms_linear_new(model, b->mlp_scope, form->last, middle, hidden, true);
}

static void block_new(ms_model *model, ms_qwen_block *b, ms_dim hidden)
{
    b->norm1 = ms_qwen_norm_new(model, b->form, b->scope, "norm1", hidden);
    b->norm2 = ms_qwen_norm_new(model, b->form, b->scope, "norm2", hidden);
    b->attention = qwen_attention_new(model, b->scope, hidden);
    mlp_new(model, b, hidden);
}

ms_qwen_block *ms_qwen_blocks_new(ms_model *model, const ms_qwen_block_form *form, uint32_t parent,
                                  ms_dim hidden, const ms_qwen_places *places)
{
    uint64_t count = model->config->vision.num_layers;
    ms_qwen_block *blocks = ms_arena_array(model->arena, ms_qwen_block, count);
    if (!blocks)
        return NULL;
    uint32_t list = ms_scope_add(model->tape, parent, "blocks", MS_NONE);
    for (uint64_t i = 0; i < count && model->tape->status == MS_OK; i++) {
        blocks[i] = (ms_qwen_block){.model = model,
                                    .form = form,
                                    .scope = ms_qwen_numbered(model, list, i),
                                    .places = places};
        block_new(model, &blocks[i], hidden);
    }
    return blocks;
}

/* ---- forward ---- */

static ms_tensor gated(ms_model *model, const ms_qwen_block *b, ms_tensor x)
{
    ms_tape *tape = model->tape;
    ms_tensor gate =
        ms_activate(tape, model->config->vision.activation, ms_linear_call(model, &b->gate, x));
    ms_retain(tape, gate);
    ms_tensor up = ms_linear_call(model, &b->first, x);
    return ms_mul(tape, ms_unown(tape, gate), up);
}

static ms_tensor mlp(ms_model *model, const ms_qwen_block *b, ms_tensor x)
{
    ms_tape *tape = model->tape;
    uint32_t previous = ms_scope_enter(tape, b->mlp_scope);
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *hidden = ms_argument(&f, x);
    ms_tensor middle = b->form->gate ? gated(model, b, *hidden)
                                     : ms_activate(tape, model->config->vision.activation,
                                                   ms_linear_call(model, &b->first, *hidden));
    ms_tensor *out = ms_local(&f, ms_linear_call(model, &b->last, middle));
    ms_tensor result = ms_locals_end(&f, out);
    tape->scope = previous;
    return result;
}

static ms_tensor run_block(ms_tape *tape, void *context, uint64_t number, ms_tensor input)
{
    (void)number;
    const ms_qwen_block *b = context;
    ms_model *model = b->model;
    uint32_t previous = ms_scope_enter(tape, b->scope);
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *hidden = ms_argument(&f, input);
    ms_tensor attended = qwen_attend(model, &b->attention, b->places,
                                     ms_qwen_norm_call(model, b->form, &b->norm1, *hidden));
    ms_assign(&f, hidden, ms_add(tape, *hidden, attended));
    ms_tensor changed = mlp(model, b, ms_qwen_norm_call(model, b->form, &b->norm2, *hidden));
    ms_assign(&f, hidden, ms_add(tape, *hidden, changed));
    ms_tensor result = ms_locals_end(&f, hidden);
    tape->scope = previous;
    return result;
}

/* gradient_checkpointing_enable() checkpoints the tower's blocks as well as the layers. */
ms_tensor ms_qwen_block_call(ms_qwen_block *b, ms_tensor hidden)
{
    const ms_qwen_places *places = b->places;
    const ms_region region = {
        .run = run_block, .context = b, .held = {places->ends, places->sin, places->cos}};
    return b->model->run->images.checkpoints ? ms_checkpoint_run(b->model->tape, &region, hidden)
                                             : run_block(b->model->tape, b, 0, hidden);
}
