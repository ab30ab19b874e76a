/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/vision/picture_layers.h"

#include <stdio.h>

#include "input/config/model/model_config.h"
#include "input/config/run/attention.h"
#include "torch/autograd/graph.h"
#include "torch/ops/ops.h"
#include "torch/treatments/recompute.h"

/* ---- construction ---- */

static uint32_t child(ms_model *model, uint32_t parent, const char *name)
{
    return ms_scope_add(model->tape, parent, name, MS_NONE);
}

static void attention_new(const ms_picture_layers *layers, ms_picture_layer *l)
{
    ms_model *model = layers->model;
    ms_dim hidden = layers->hidden;
    l->attention_scope = child(model, l->scope, "self_attn");
    l->k_proj = ms_linear_new(model, l->attention_scope, "k_proj", hidden, hidden, true);
    l->v_proj = ms_linear_new(model, l->attention_scope, "v_proj", hidden, hidden, true);
    l->q_proj = ms_linear_new(model, l->attention_scope, "q_proj", hidden, hidden, true);
    l->out_proj = ms_linear_new(model, l->attention_scope, "out_proj", hidden, hidden, true);
}

static void mlp_new(const ms_picture_layers *layers, ms_picture_layer *l)
{
    ms_model *model = layers->model;
    l->mlp_scope = child(model, l->scope, "mlp");
    l->fc1 = ms_linear_new(model, l->mlp_scope, "fc1", layers->hidden, layers->intermediate, true);
    l->fc2 = ms_linear_new(model, l->mlp_scope, "fc2", layers->intermediate, layers->hidden, true);
}

static void layer_new(const ms_picture_layers *layers, uint32_t parent, uint64_t number)
{
    ms_model *model = layers->model;
    ms_picture_layer *l = &layers->list[number];
    char name[24];
    snprintf(name, sizeof name, "%u", (unsigned)number);
    l->scope = child(model, parent, name);
    if (layers->norms_last)
        attention_new(layers, l);
    l->norm1 = ms_norm_new(model, l->scope, "layer_norm1", layers->hidden, true);
    if (!layers->norms_last)
        attention_new(layers, l);
    if (layers->norms_last)
        mlp_new(layers, l);
    l->norm2 = ms_norm_new(model, l->scope, "layer_norm2", layers->hidden, true);
    if (!layers->norms_last)
        mlp_new(layers, l);
}

bool ms_picture_layers_new(ms_model *model, ms_picture_layers *layers, uint32_t parent)
{
    ms_symbols *s = &model->tape->trace->symbols;
    const ms_vision_config *vision = &model->config->vision;
    layers->model = model;
    layers->hidden = ms_dim_name(s, "Hv", vision->hidden_size);
    layers->intermediate = ms_dim_name(s, "Iv", vision->intermediate_size);
    layers->list = ms_arena_array(model->arena, ms_picture_layer, vision->num_layers);
    if (!layers->list)
        return false;
    uint32_t scope = child(model, child(model, parent, "encoder"), "layers");
    for (uint64_t i = 0; i < vision->num_layers && model->tape->status == MS_OK; i++)
        layer_new(layers, scope, i);
    return true;
}

/* ---- attention ---- */

/* *weights: the probabilities, retained. */
static ms_tensor eager(ms_tape *tape, ms_tensor q, ms_tensor k, ms_tensor v, ms_tensor *weights)
{
    ms_dtype dtype = ms_idle(tape) ? MS_DTYPE_F32 : (ms_dtype)ms_info(tape, q)->dtype;
    ms_locals f = ms_locals_begin(tape);
    ms_tensor product = ms_matmul(tape, q, ms_transpose(tape, k, 2, 3));
    ms_tensor *probabilities = ms_local(&f, ms_mul_scalar(tape, product));
    ms_assign(&f, probabilities,
              ms_to(tape, ms_softmax_last(tape, *probabilities, MS_DTYPE_F32), dtype));
    ms_tensor *out = ms_local(&f, ms_matmul(tape, *probabilities, v));
    ms_assign(&f, out, ms_contiguous(tape, ms_transpose(tape, *out, 1, 2)));
    *weights = tape->stopped ? 0 : *probabilities;
    ms_retain(tape, *weights);
    return ms_locals_end(&f, out);
}

static ms_tensor fused(ms_tape *tape, ms_attention backend, ms_tensor q, ms_tensor k, ms_tensor v)
{
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *out = ms_local(&f, ms_sdpa_both_ways(tape, backend, q, k, v, 0));
    ms_assign(&f, out, ms_contiguous(tape, ms_transpose(tape, *out, 1, 2)));
    return ms_locals_end(&f, out);
}

/* [pictures, tokens, Hv] as [pictures, heads, tokens, width] */
static ms_tensor as_heads(ms_model *model, ms_tensor x)
{
    ms_tape *tape = model->tape;
    if (ms_idle(tape) || !x)
        return 0;
    const ms_vision_config *vision = &model->config->vision;
    ms_symbols *s = &tape->trace->symbols;
    const ms_shape shape = ms_info(tape, x)->shape;
    ms_dim heads = ms_dim_number(s, vision->num_heads);
    ms_dim width = ms_dim_number(s, vision->hidden_size / vision->num_heads);
    return ms_transpose(
        tape, ms_view(tape, x, MS_SHAPE(shape.dims[0], shape.dims[1], heads, width)), 1, 2);
}

/* Queries, keys and values of x, locals of `f`. */
static void project(const ms_picture_layers *layers, const ms_picture_layer *l, ms_locals *f,
                    ms_tensor x, ms_tensor *out[3])
{
    ms_model *model = layers->model;
    const ms_linear_module *const modules[] = {&l->q_proj, &l->k_proj, &l->v_proj};
    for (int i = 0; i < 3; i++) {
        ms_tensor made = ms_linear_call(model, modules[i], x);
        out[i] = ms_local(f, layers->projects_first ? made : as_heads(model, made));
    }
    for (int i = 0; i < 3 && layers->projects_first; i++)
        ms_assign(f, out[i], as_heads(model, *out[i]));
}

/* *weights as of eager(), 0 without. */
static ms_tensor attend(const ms_picture_layers *layers, const ms_picture_layer *l, ms_tensor x,
                        ms_tensor *weights)
{
    ms_model *model = layers->model;
    ms_tape *tape = model->tape;
    ms_attention backend = ms_tower_backend(model);
    uint32_t previous = ms_scope_enter(tape, l->attention_scope);
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *hidden = ms_argument(&f, x), *q_k_v[3];
    project(layers, l, &f, *hidden, q_k_v);
    *weights = 0;
    ms_tensor *out = ms_local(&f, backend == MS_ATTENTION_EAGER
                                      ? eager(tape, *q_k_v[0], *q_k_v[1], *q_k_v[2], weights)
                                      : fused(tape, backend, *q_k_v[0], *q_k_v[1], *q_k_v[2]));
    if (!ms_idle(tape) && *hidden) {
        const ms_shape shape = ms_info(tape, *hidden)->shape;
        ms_assign(&f, out, ms_contiguous(tape, ms_reshape(tape, *out, shape)));
    }
    ms_assign(&f, out, ms_linear_call(model, &l->out_proj, *out));
    ms_tensor result = ms_locals_end(&f, out);
    ms_unown(tape, *weights);
    tape->scope = previous;
    return result;
}

/* ---- a layer ---- */

static ms_tensor mlp(ms_model *model, const ms_picture_layer *l, ms_tensor x)
{
    ms_tape *tape = model->tape;
    uint32_t previous = ms_scope_enter(tape, l->mlp_scope);
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *hidden = ms_argument(&f, x);
    ms_assign(&f, hidden, ms_linear_call(model, &l->fc1, *hidden));
    ms_assign(&f, hidden, ms_activate(tape, model->config->vision.activation, *hidden));
    ms_assign(&f, hidden, ms_linear_call(model, &l->fc2, *hidden));
    ms_tensor result = ms_locals_end(&f, hidden);
    tape->scope = previous;
    return result;
}

static ms_tensor run_layer(ms_tape *tape, void *context, uint64_t number, ms_tensor input)
{
    const ms_picture_layers *layers = context;
    ms_model *model = layers->model;
    const ms_picture_layer *l = &layers->list[number];
    uint32_t previous = ms_scope_enter(tape, l->scope);
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *hidden = ms_argument(&f, input), weights;
    ms_tensor *residual = ms_local(&f, *hidden);
    ms_assign(&f, hidden, ms_layer_norm_call(model, &l->norm1, *hidden));
    ms_assign(&f, hidden, attend(layers, l, *hidden, &weights));
    ms_local(&f, weights);
    ms_assign(&f, hidden, ms_add(tape, *residual, *hidden));
    ms_assign(&f, residual, *hidden);
    ms_assign(&f, hidden, ms_layer_norm_call(model, &l->norm2, *hidden));
    ms_assign(&f, hidden, mlp(model, l, *hidden));
    ms_assign(&f, hidden, ms_add(tape, *residual, *hidden));
    ms_tensor result = ms_locals_end(&f, hidden);
    tape->scope = previous;
    return result;
}

ms_tensor ms_picture_layers_run(ms_picture_layers *layers, uint64_t first, uint64_t end,
                                ms_tensor input)
{
    ms_model *model = layers->model;
    ms_tape *tape = model->tape;
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *hidden = ms_argument(&f, input);
    for (uint64_t i = first; i < end && tape->status == MS_OK; i++) {
        const ms_region region = {.run = run_layer, .context = layers, .number = i};
        /* gradient_checkpointing_enable() checkpoints the tower's layers as well */
        ms_assign(&f, hidden,
                  model->run->images.checkpoints ? ms_checkpoint_run(tape, &region, *hidden)
                                                 : run_layer(tape, region.context, i, *hidden));
    }
    return ms_locals_end(&f, hidden);
}

/* ---- patches ---- */

uint64_t ms_picture_side(const ms_vision_config *vision)
{
    return vision->image_size / vision->patch_size;
}

ms_tensor ms_picture_project(ms_model *model, uint32_t scope, ms_tensor weight, ms_tensor bias,
                             ms_tensor pixels)
{
    ms_tape *tape = model->tape;
    if (ms_idle(tape) || !pixels)
        return 0;
    ms_dim side = ms_dim_number(&tape->trace->symbols, ms_picture_side(&model->config->vision));
    ms_tensor cast = ms_to(tape, pixels, (ms_dtype)ms_info(tape, weight)->dtype);
    uint32_t previous = ms_scope_enter(tape, scope);
    ms_tensor made = ms_patches(tape, cast, weight, bias, side, side);
    /* transformers 5 takes the patches for input embeddings, whose gradients checkpoints need */
    if (model->run->images.checkpoints || ms_inputs_require_grad(model))
        ms_require_grad(tape, made);
    tape->scope = previous;
    return made;
}

ms_tensor ms_picture_tokens(ms_tape *tape, ms_tensor patches)
{
    if (ms_idle(tape) || !patches)
        return 0;
    const ms_shape shape = ms_info(tape, patches)->shape;
    ms_dim places = ms_dim_mul(&tape->trace->symbols, shape.dims[2], shape.dims[3]);
    ms_tensor flat = ms_view(tape, patches, MS_SHAPE(shape.dims[0], shape.dims[1], places));
    return ms_transpose(tape, flat, 1, 2);
}
