/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/vision/qwen2_5_tower.h"

#include <stdio.h>

#include "autograd/graph.h"
#include "model/blocks/blocks.h"
#include "model/vision/qwen2_5_attention.h"
#include "model/vision/qwen_image.h"
#include "model/vision/qwen_patches.h"
#include "ops/moe/rows.h"
#include "ops/ops.h"
#include "treatments/checkpoint.h"

typedef struct block {
    uint32_t scope, mlp_scope;
    ms_norm_module norm1, norm2;
    ms_qwen_attention attention;
    ms_linear_module gate_proj, up_proj, down_proj;
} block;

typedef struct tower {
    uint32_t scope, projection_scope, rotary_scope, merger_scope, merger_mlp_scope;
    ms_tensor projection, inv_freq;
    block *blocks;
    ms_norm_module ln_q;
    ms_linear_module first, second; /* of the merger */
    ms_qwen_parts windows, images;  /* where attention stays */
    ms_dim hidden, merged;
    ms_tensor cos, sin;                      /* of the running pass */
    ms_tensor window_lengths, image_lengths; /* cu_window_seqlens and cu_seqlens */
} tower;

/* ---- construction ---- */

static uint32_t child(ms_model *model, uint32_t parent, const char *name)
{
    return ms_scope_add(model->tape, parent, name, MS_NONE);
}

static void patches_new(ms_model *model, tower *t)
{
    ms_symbols *s = &model->tape->trace->symbols;
    const ms_vision_config *vision = &model->config->vision;
    t->projection_scope = child(model, child(model, t->scope, "patch_embed"), "proj");
    ms_dim side = ms_dim_number(s, vision->patch_size);
    t->projection = ms_parameter_new(model, t->projection_scope, "weight",
                                     MS_SHAPE(t->hidden, ms_dim_number(s, vision->channels),
                                              ms_dim_number(s, vision->frames), side, side));
}

/* Half of a head turns by rows, half by columns. */
static void rotary_new(ms_model *model, tower *t)
{
    const ms_vision_config *vision = &model->config->vision;
    uint64_t half = vision->hidden_size / vision->num_heads / 2;
    ms_shape shape = MS_SHAPE(ms_dim_number(&model->tape->trace->symbols, (half + 1) / 2));
    t->rotary_scope = child(model, t->scope, "rotary_pos_emb");
    uint32_t previous = ms_scope_enter(model->tape, t->rotary_scope);
    t->inv_freq = ms_buffer_new(model, shape, MS_DTYPE_F32, "inv_freq");
    ms_buffer_new(model, shape, MS_DTYPE_F32, "inv_freq");
    model->tape->scope = previous;
}

static void block_new(ms_model *model, tower *t, block *b, uint32_t parent, uint64_t number)
{
    char name[24];
    snprintf(name, sizeof name, "%u", (unsigned)number);
    ms_dim hidden = t->hidden, middle = ms_dim_name(&model->tape->trace->symbols, "Iv",
                                                    model->config->vision.intermediate_size);
    b->scope = child(model, parent, name);
    b->norm1 = ms_norm_new(model, b->scope, "norm1", hidden, false);
    b->norm2 = ms_norm_new(model, b->scope, "norm2", hidden, false);
    b->attention = ms_qwen_attention_new(model, b->scope, hidden);
    b->mlp_scope = child(model, b->scope, "mlp");
    b->gate_proj = ms_linear_new(model, b->mlp_scope, "gate_proj", hidden, middle, true);
    b->up_proj = ms_linear_new(model, b->mlp_scope, "up_proj", hidden, middle, true);
    b->down_proj = ms_linear_new(model, b->mlp_scope, "down_proj", middle, hidden, true);
}

static void merger_new(ms_model *model, tower *t)
{
    ms_dim out = ms_dim_name(&model->tape->trace->symbols, "Ov", model->config->vision.out_size);
    t->merger_scope = child(model, t->scope, "merger");
    t->ln_q = ms_norm_new(model, t->merger_scope, "ln_q", t->hidden, false);
    t->merger_mlp_scope = child(model, t->merger_scope, "mlp");
    t->first = ms_linear_new(model, t->merger_mlp_scope, "0", t->merged, t->merged, true);
    t->second = ms_linear_new(model, t->merger_mlp_scope, "2", t->merged, out, true);
}

bool ms_qwen2_5_tower_new(ms_model *model, uint32_t parent)
{
    ms_symbols *s = &model->tape->trace->symbols;
    const ms_vision_config *vision = &model->config->vision;
    tower *t = ms_arena_array(model->arena, tower, 1);
    block *blocks = ms_arena_array(model->arena, block, vision->num_layers);
    if (!t || !blocks)
        return false;
    model->tower = t;
    t->blocks = blocks;
    t->scope = child(model, parent, "visual");
    t->hidden = ms_dim_name(s, "Hv", vision->hidden_size);
    t->merged = ms_dim_number(s, vision->hidden_size * vision->merge_size * vision->merge_size);
    uint32_t first = model->tape->parameters.count;
    patches_new(model, t);
    rotary_new(model, t);
    uint32_t list = child(model, t->scope, "blocks");
    for (uint64_t i = 0; i < vision->num_layers && model->tape->status == MS_OK; i++)
        block_new(model, t, &t->blocks[i], list, i);
    merger_new(model, t);
    if (model->run->images.frozen && !model->run->adapter) /* which freezes by itself */
        ms_parameters_freeze(model, first, model->tape->parameters.count);
    return model->run->images.count == 0 ||
           (ms_qwen_windows_list(model, &t->windows) && ms_qwen_images_list(model, &t->images));
}

/* ---- blocks ---- */

static ms_tensor mlp(ms_model *model, const block *b, ms_tensor x)
{
    ms_tape *tape = model->tape;
    uint32_t previous = ms_scope_enter(tape, b->mlp_scope);
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *hidden = ms_argument(&f, x);
    ms_tensor gate = ms_activate(tape, model->config->vision.activation,
                                 ms_linear_call(model, &b->gate_proj, *hidden));
    ms_retain(tape, gate);
    ms_tensor up = ms_linear_call(model, &b->up_proj, *hidden);
    ms_tensor product = ms_mul(tape, ms_unown(tape, gate), up);
    ms_tensor *out = ms_local(&f, ms_linear_call(model, &b->down_proj, product));
    ms_tensor result = ms_locals_end(&f, out);
    tape->scope = previous;
    return result;
}

static bool sees_whole_images(const ms_model *model, uint64_t number)
{
    return model->config->vision.marked_blocks[number / 64] >> number % 64 & 1;
}

static ms_tensor run_block(ms_tape *tape, void *context, uint64_t number, ms_tensor input)
{
    ms_model *model = context;
    const tower *t = model->tower;
    const block *b = &t->blocks[number];
    bool whole = sees_whole_images(model, number);
    const ms_qwen_places places = {.parts = whole ? &t->images : &t->windows,
                                   .cos = t->cos,
                                   .sin = t->sin,
                                   .ends = whole ? t->image_lengths : t->window_lengths};
    uint32_t previous = ms_scope_enter(tape, b->scope);
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *hidden = ms_argument(&f, input);
    ms_tensor attended =
        ms_qwen_attend(model, &b->attention, &places, ms_rms_norm_call(model, &b->norm1, *hidden));
    ms_assign(&f, hidden, ms_add(tape, *hidden, attended));
    ms_tensor changed = mlp(model, b, ms_rms_norm_call(model, &b->norm2, *hidden));
    ms_assign(&f, hidden, ms_add(tape, *hidden, changed));
    ms_tensor result = ms_locals_end(&f, hidden);
    tape->scope = previous;
    return result;
}

/* gradient_checkpointing_enable() checkpoints the tower's blocks as well as the layers. */
static ms_tensor call_block(ms_model *model, const tower *t, uint64_t number, ms_tensor hidden)
{
    bool whole = sees_whole_images(model, number);
    const ms_region region = {
        .run = run_block,
        .context = model,
        .number = number,
        .held = {whole ? t->image_lengths : t->window_lengths, t->sin, t->cos}};
    return model->run->images.checkpoints ? ms_checkpoint_run(model->tape, &region, hidden)
                                          : run_block(model->tape, model, number, hidden);
}

/* ---- windows ---- */

/* permute_input_for_window_attn: the groups of patches that are merged, in the order of windows;
 * `order` is the caller's, or 0. */
static ms_tensor in_windows(ms_model *model, const tower *t, ms_tensor x, ms_tensor order)
{
    ms_tape *tape = model->tape;
    if (ms_idle(tape) || !x)
        return 0;
    ms_symbols *s = &tape->trace->symbols;
    uint64_t merge = model->config->vision.merge_size;
    ms_shape shape = ms_info(tape, x)->shape;
    ms_dim groups = ms_dim_number(s, t->images.count * model->run->images.grid.tokens);
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *input = ms_argument(&f, x);
    ms_assign(
        &f, input,
        ms_reshape(tape, *input, MS_SHAPE(groups, ms_dim_number(s, merge * merge), shape.dims[1])));
    ms_assign(&f, input, ms_index_by_host(tape, *input, order, groups));
    ms_assign(&f, input, ms_reshape(tape, *input, shape));
    return ms_locals_end(&f, input);
}

/* cos and sin in the order of windows, locals of `f`. */
static void make_tables(ms_model *model, tower *t, ms_locals *f, ms_tensor positions,
                        ms_tensor order)
{
    ms_tape *tape = model->tape;
    ms_tensor tables[2] = {0};
    ms_qwen_tables(model, t->rotary_scope, t->inv_freq, positions, tables);
    ms_retain(tape, tables[0]);
    ms_retain(tape, tables[1]);
    ms_tensor cos = in_windows(model, t, tables[0], order);
    ms_retain(tape, cos);
    ms_tensor sin = in_windows(model, t, tables[1], order);
    ms_retain(tape, sin);
    ms_release(tape, tables[1]);
    ms_release(tape, tables[0]);
    t->sin = *ms_local(f, ms_unown(tape, sin));
    t->cos = *ms_local(f, ms_unown(tape, cos));
}

/* ---- forward ---- */

static ms_tensor merge(ms_model *model, const tower *t, ms_tensor x)
{
    ms_tape *tape = model->tape;
    ms_symbols *s = &tape->trace->symbols;
    ms_dim tokens = ms_dim_number(s, t->images.count * model->run->images.grid.tokens);
    uint32_t previous = ms_scope_enter(tape, t->merger_scope);
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *input = ms_argument(&f, x);
    ms_tensor *normed = ms_local(
        &f, ms_view(tape, ms_rms_norm_call(model, &t->ln_q, *input), MS_SHAPE(tokens, t->merged)));
    ms_scope_enter(tape, t->merger_mlp_scope);
    ms_tensor *hidden = ms_local(&f, *normed); /* of the list's call, which has it twice */
    ms_assign(&f, hidden, ms_linear_call(model, &t->first, *hidden));
    ms_assign(&f, hidden, ms_gelu(tape, *hidden));
    ms_assign(&f, hidden, ms_linear_call(model, &t->second, *hidden));
    ms_tensor result = ms_locals_end(&f, hidden);
    tape->scope = previous;
    return result;
}

/* On the CPU the order of groups is a tensor like others. */
static ms_tensor order_of(ms_model *model, const tower *t)
{
    ms_dim groups = ms_dim_number(&model->tape->trace->symbols,
                                  t->images.count * model->run->images.grid.tokens);
    return model->tape->on_cpu ? ms_empty(model->tape, MS_SHAPE(groups), MS_DTYPE_I64) : 0;
}

ms_tensor ms_qwen2_5_tower_run(ms_model *model, ms_tensor pixels, ms_tensor *last)
{
    ms_tape *tape = model->tape;
    tower *t = model->tower;
    uint32_t previous = ms_scope_enter(tape, t->scope);
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *hidden = ms_argument(&f, pixels);
    ms_tensor *positions = ms_local(&f, ms_qwen_grid_positions(model, &t->images));
    t->image_lengths = *ms_local(&f, ms_qwen_ends(tape, t->images.count + 1));
    ms_tensor *order = ms_local(&f, order_of(model, t));
    t->window_lengths = *ms_local(&f, ms_qwen_ends(tape, t->windows.listed + 1));
    ms_assign(&f, hidden, ms_qwen_project(model, t->projection_scope, t->projection, 0, *hidden));
    /* transformers 5 takes the patches for input embeddings, whose gradients checkpoints need */
    if (model->run->images.checkpoints || ms_inputs_require_grad(model))
        ms_require_grad(tape, *hidden);
    ms_assign(&f, hidden, in_windows(model, t, *hidden, *order));
    make_tables(model, t, &f, *positions, *order);
    for (uint64_t i = 0; i < model->config->vision.num_layers && tape->status == MS_OK; i++)
        ms_assign(&f, hidden, call_block(model, t, i, *hidden));
    ms_tensor *back = ms_local(&f, order_of(model, t));
    ms_tensor *merged = ms_local(&f, merge(model, t, *hidden));
    ms_dim tokens =
        ms_dim_number(&tape->trace->symbols, t->images.count * model->run->images.grid.tokens);
    ms_assign(&f, merged, ms_index_by_host(tape, *merged, *back, tokens));
    ms_tensor result[2];
    ms_return_both(&f, *hidden, *merged, result);
    *last = result[0];
    tape->scope = previous;
    return result[1];
}
