/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/vision/qwen/qwen2_tower.h"

#include "input/config/model/model_config.h"
#include "torch/autograd/graph.h"
#include "model/blocks/blocks.h"
#include "model/vision/qwen/block.h"
#include "model/vision/qwen/image.h"
#include "model/vision/qwen/patches.h"
#include "torch/ops/moe/rows.h"
#include "torch/ops/ops.h"

static const ms_qwen_block_form of_qwen2 = {.first = "fc1", .last = "fc2"};
static const ms_qwen_block_form of_qwen2_5 = {
    .is_rms = true, .gate = "gate_proj", .first = "up_proj", .last = "down_proj"};

typedef struct tower {
    const ms_qwen_block_form *form;
    uint32_t scope, merger_scope, merger_mlp_scope;
    ms_qwen_projection projection;
    ms_qwen_rotary rotary;
    ms_qwen_block *blocks;
    ms_norm_module ln_q;
    ms_linear_module first, second;       /* of the merger */
    ms_qwen_parts windows, images;        /* where attention stays; windows: of Qwen2.5-VL alone */
    ms_qwen_places in_windows, in_images; /* of the running pass */
    ms_dim hidden, merged;
} tower;

/* ---- construction ---- */

static bool has_windows(const ms_model *model)
{
    return model->config->vision.window_size > 0;
}

static bool sees_whole_images(const ms_model *model, uint64_t number)
{
    return model->config->vision.marked_blocks[number / 64] >> number % 64 & 1;
}

static bool blocks_new(ms_model *model, tower *t)
{
    t->in_images.parts = &t->images;
    t->in_windows.parts = &t->windows;
    t->blocks = ms_qwen_blocks_new(model, t->form, t->scope, t->hidden, &t->in_images);
    for (uint64_t i = 0; t->blocks && has_windows(model) && i < model->config->vision.num_layers;
         i++)
        if (!sees_whole_images(model, i))
            t->blocks[i].places = &t->in_windows;
    return t->blocks != NULL;
}

static void merger_new(ms_model *model, tower *t)
{
    ms_dim out = ms_dim_name(&model->tape->trace->symbols, "Ov", model->config->vision.out_size);
    t->merger_scope = ms_scope_add(model->tape, t->scope, "merger", MS_NONE);
    t->ln_q = ms_qwen_norm_new(model, t->form, t->merger_scope, "ln_q", t->hidden);
    t->merger_mlp_scope = ms_scope_add(model->tape, t->merger_scope, "mlp", MS_NONE);
    t->first = ms_linear_new(model, t->merger_mlp_scope, "0", t->merged, t->merged, true);
    t->second = ms_linear_new(model, t->merger_mlp_scope, "2", t->merged, out, true);
}

/* The parts of a batch of images; false: out of memory. */
static bool parts_list(ms_model *model, tower *t)
{
    return model->run->images.count == 0 ||
           ((!has_windows(model) || ms_qwen_windows_list(model, &t->windows)) &&
            ms_qwen_images_list(model, &t->images));
}

bool ms_qwen2_tower_new(ms_model *model, uint32_t parent)
{
    ms_symbols *s = &model->tape->trace->symbols;
    const ms_vision_config *vision = &model->config->vision;
    tower *t = ms_arena_array(model->arena, tower, 1);
    if (!t)
        return false;
    model->tower = t;
    t->form = has_windows(model) ? &of_qwen2_5 : &of_qwen2;
    t->scope = ms_scope_add(model->tape, parent, "visual", MS_NONE);
    t->hidden = ms_dim_name(s, "Hv", vision->hidden_size);
    t->merged = ms_dim_number(s, vision->hidden_size * vision->merge_size * vision->merge_size);
    uint32_t first = model->tape->parameters.count;
    t->projection = ms_qwen_projection_new(model, t->scope, t->hidden, false);
    t->rotary = ms_qwen_rotary_new(model, t->scope);
    if (!blocks_new(model, t))
        return false;
    merger_new(model, t);
    if (model->run->images.frozen && !model->run->adapter) /* which freezes by itself */
        ms_parameters_freeze(model, first, model->tape->parameters.count);
    return parts_list(model, t);
}

/* ---- windows ---- */

/* permute_input_for_window_attn: the groups of patches that are merged, in the order of windows;
 * `order` is the caller's, or 0. As they are without windows. */
static ms_tensor in_windows(ms_model *model, const tower *t, ms_tensor x, ms_tensor order)
{
    ms_tape *tape = model->tape;
    if (ms_idle(tape) || !x)
        return 0;
    if (!has_windows(model))
        return x;
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

/* cos and sin, in the order of windows where there are any: locals of `f`. */
static void make_tables(ms_model *model, tower *t, ms_locals *f, ms_tensor positions,
                        ms_tensor order)
{
    ms_tape *tape = model->tape;
    ms_tensor tables[2] = {0};
    ms_qwen_tables(model, &t->rotary, positions, tables);
    ms_retain(tape, tables[0]);
    ms_retain(tape, tables[1]);
    ms_tensor cos = in_windows(model, t, tables[0], order);
    ms_retain(tape, cos);
    ms_tensor sin = in_windows(model, t, tables[1], order);
    ms_retain(tape, sin);
    ms_release(tape, tables[1]);
    ms_release(tape, tables[0]);
    t->in_images.sin = t->in_windows.sin = *ms_local(f, ms_unown(tape, sin));
    t->in_images.cos = t->in_windows.cos = *ms_local(f, ms_unown(tape, cos));
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
    ms_tensor *normed =
        ms_local(&f, ms_view(tape, ms_qwen_norm_call(model, t->form, &t->ln_q, *input),
                             MS_SHAPE(tokens, t->merged)));
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
    return model->tape->on_cpu && has_windows(model)
               ? ms_empty(model->tape, MS_SHAPE(groups), MS_DTYPE_I64)
               : 0;
}

/* The merged tokens back from the order of windows. */
static ms_tensor as_images(ms_model *model, const tower *t, ms_tensor merged, ms_tensor order)
{
    ms_dim tokens = ms_dim_number(&model->tape->trace->symbols,
                                  t->images.count * model->run->images.grid.tokens);
    return has_windows(model) ? ms_index_by_host(model->tape, merged, order, tokens) : merged;
}

ms_tensor ms_qwen2_tower_run(ms_model *model, ms_tensor pixels, ms_tensor *last)
{
    ms_tape *tape = model->tape;
    tower *t = model->tower;
    uint32_t previous = ms_scope_enter(tape, t->scope);
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *hidden = ms_argument(&f, pixels);
    ms_tensor *positions = ms_local(&f, ms_qwen_grid_positions(model, &t->images));
    t->in_images.ends = *ms_local(&f, ms_qwen_ends(tape, t->images.count + 1));
    ms_tensor *order = ms_local(&f, order_of(model, t));
    if (has_windows(model))
        t->in_windows.ends = *ms_local(&f, ms_qwen_ends(tape, t->windows.listed + 1));
    ms_assign(&f, hidden, ms_qwen_project(model, &t->projection, *hidden));
    /* transformers 5 takes the patches for input embeddings, whose gradients checkpoints need */
    if (model->run->images.checkpoints || ms_inputs_require_grad(model))
        ms_require_grad(tape, *hidden);
    ms_assign(&f, hidden, in_windows(model, t, *hidden, *order));
    make_tables(model, t, &f, *positions, *order);
    for (uint64_t i = 0; i < model->config->vision.num_layers && tape->status == MS_OK; i++)
        ms_assign(&f, hidden, ms_qwen_block_call(&t->blocks[i], *hidden));
    ms_tensor *back = ms_local(&f, order_of(model, t));
    ms_tensor *merged = ms_local(&f, merge(model, t, *hidden));
    ms_assign(&f, merged, as_images(model, t, *merged, *back));
    ms_tensor result[2];
    ms_return_both(&f, *hidden, *merged, result);
    *last = result[0];
    tape->scope = previous;
    return result[1];
}
