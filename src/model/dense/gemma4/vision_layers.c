/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The layers of Gemma 4's tower for pictures.
 */
#include "model/dense/gemma4/vision_layers.h"

#include "input/config/model/model_config.h"
#include "input/config/run/attention.h"
#include "model/dense/gemma4/attention.h"
#include "torch/ops/ops.h"
#include "torch/treatments/recompute.h"

/* ---- heads ---- */

/* [images, patches, ..] as [images, patches, heads, Dv] */
static ms_tensor as_heads(ms_model *model, ms_tensor x, uint64_t heads)
{
    ms_tape *tape = model->tape;
    if (ms_idle(tape) || !x)
        return 0;
    const ms_gemma4_tower *t = model->tower;
    const ms_shape shape = ms_info(tape, x)->shape;
    ms_dim count = ms_dim_number(&tape->trace->symbols, heads);
    return ms_view(tape, x, MS_SHAPE(shape.dims[0], shape.dims[1], count, t->head_dim));
}

static void halves(ms_tape *tape, ms_tensor x, ms_dim half, ms_tensor out[2])
{
    const ms_dim lengths[] = {half, half};
    ms_split_into(tape, x, 2, lengths, out);
    for (int i = 0; i < 2; i++)
        ms_retain(tape, out[i]);
}

/* apply_multidimensional_rope: the first half by columns, the second by rows. */
static ms_tensor turn(ms_model *model, ms_tensor x)
{
    ms_tape *tape = model->tape;
    const ms_gemma4_tower *t = model->tower;
    ms_tensor parts[2], cos[2], sin[2], turned[2];
    if (ms_idle(tape) || !x)
        return 0;
    ms_dim half = ms_dim_number(&tape->trace->symbols, t->head_dim.value / 2);
    halves(tape, x, half, parts);
    halves(tape, t->cos, half, cos);
    halves(tape, t->sin, half, sin);
    for (int i = 0; i < 2; i++) {
        turned[i] = ms_rotary_turn(tape, parts[i], cos[i], sin[i], 2);
        ms_retain(tape, turned[i]);
    }
    ms_tensor out = ms_idle(tape) ? 0 : ms_cat2(tape, turned[0], turned[1], 3);
    for (int i = 0; i < 2; i++) {
        ms_release(tape, parts[i]);
        ms_release(tape, cos[i]);
        ms_release(tape, sin[i]);
    }
    for (int i = 1; i >= 0; i--) /* as a list drops its items */
        ms_release(tape, turned[i]);
    return out;
}

/* x = transposed(turned(norm(projected(hidden)))) */
static ms_tensor *make(ms_model *model, ms_locals *f, const ms_bounded_linear *projection,
                       const ms_norm_module *norm, uint64_t heads, ms_tensor hidden)
{
    ms_tape *tape = model->tape;
    ms_tensor *x =
        ms_local(f, as_heads(model, ms_bounded_linear_call(model, projection, hidden), heads));
    ms_assign(f, x, norm ? ms_gemma4_norm(model, norm, *x) : ms_gemma4_unit_norm(model, *x));
    if (norm)
        ms_assign(f, x, turn(model, *x));
    ms_assign(f, x, ms_idle(tape) ? 0 : ms_transpose(tape, *x, 1, 2));
    return x;
}

/* ---- attention ---- */

/* Keys or values for each query's head. */
static ms_tensor repeated(ms_model *model, ms_tensor x)
{
    ms_tape *tape = model->tape;
    const ms_vision_config *vision = &model->config->vision;
    if (ms_idle(tape) || !x || vision->num_heads == vision->num_kv_heads)
        return x;
    ms_symbols *s = &tape->trace->symbols;
    const ms_shape shape = ms_info(tape, x)->shape;
    ms_dim groups = ms_dim_number(s, vision->num_heads / vision->num_kv_heads);
    ms_tensor wide =
        ms_expand(tape, ms_unsqueeze(tape, x, 2),
                  MS_SHAPE(shape.dims[0], shape.dims[1], groups, shape.dims[2], shape.dims[3]));
    return ms_reshape(
        tape, wide,
        MS_SHAPE(shape.dims[0], ms_dim_number(s, vision->num_heads), shape.dims[2], shape.dims[3]));
}

static ms_tensor transposed(ms_tape *tape, ms_tensor out)
{
    return ms_idle(tape) ? 0 : ms_contiguous(tape, ms_transpose(tape, out, 1, 2));
}

/* *weights: the probabilities, retained. */
static ms_tensor eager(ms_model *model, ms_tensor q, ms_tensor k, ms_tensor v, ms_tensor *weights)
{
    ms_tape *tape = model->tape;
    const ms_gemma4_tower *t = model->tower;
    ms_dtype dtype = ms_idle(tape) ? MS_DTYPE_F32 : (ms_dtype)ms_info(tape, q)->dtype;
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *keys = ms_local(&f, repeated(model, k)), *values = ms_local(&f, repeated(model, v));
    ms_tensor product = ms_matmul(tape, q, ms_transpose(tape, *keys, 2, 3));
    ms_tensor *probabilities = ms_local(&f, ms_mul_scalar(tape, product));
    if (t->mask)
        ms_assign(&f, probabilities, ms_add(tape, *probabilities, t->mask));
    ms_assign(&f, probabilities,
              ms_to(tape, ms_softmax_last(tape, *probabilities, MS_DTYPE_F32), dtype));
    ms_tensor *out = ms_local(&f, ms_matmul(tape, *probabilities, *values));
    ms_assign(&f, out, transposed(tape, *out));
    *weights = tape->stopped ? 0 : *probabilities;
    ms_retain(tape, *weights);
    return ms_locals_end(&f, out);
}

/* The heads of the tower, for the choice of a back end. */
static ms_model_config heads_of(const ms_model *model)
{
    ms_model_config heads = *model->config;
    heads.num_heads = model->config->vision.num_heads;
    heads.num_kv_heads = model->config->vision.num_kv_heads;
    heads.head_dim = model->config->vision.head_dim;
    heads.wide_head_dim = heads.wide_kv_heads = 0;
    heads.attention_dropout = 0;
    return heads;
}

/* Without a mask the kernel groups the queries. */
static ms_tensor fused(ms_model *model, ms_tensor q, ms_tensor k, ms_tensor v)
{
    ms_tape *tape = model->tape;
    const ms_gemma4_tower *t = model->tower;
    ms_backends backends[2];
    const ms_model_config heads = heads_of(model);
    ms_attention_backends(&heads, model->run, backends);
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *key = ms_local(&f, t->mask ? repeated(model, k) : k);
    ms_tensor *value = ms_local(&f, t->mask ? repeated(model, v) : v);
    ms_tensor *out =
        ms_local(&f, t->mask ? ms_sdpa(tape, backends->masked, q, *key, *value, t->mask, 0)
                             : ms_sdpa_both_ways(tape, backends->plain, q, *key, *value, 0));
    ms_assign(&f, out, transposed(tape, *out));
    return ms_locals_end(&f, out);
}

static ms_tensor merged(ms_model *model, ms_tensor x)
{
    ms_tape *tape = model->tape;
    if (ms_idle(tape) || !x)
        return 0;
    const ms_shape shape = ms_info(tape, x)->shape;
    ms_dim width = ms_dim_mul(&tape->trace->symbols, shape.dims[2], shape.dims[3]);
    return ms_contiguous(tape, ms_reshape(tape, x, MS_SHAPE(shape.dims[0], shape.dims[1], width)));
}

static ms_tensor attend(ms_model *model, const ms_gemma4_vision_layer *l, ms_tensor x,
                        ms_tensor *weights)
{
    ms_tape *tape = model->tape;
    const ms_vision_config *vision = &model->config->vision;
    uint64_t heads = vision->num_heads, kv_heads = vision->num_kv_heads;
    uint32_t previous = ms_scope_enter(tape, l->attention_scope);
    ms_locals f = ms_locals_begin(tape);
    *weights = 0;
    ms_tensor *hidden = ms_argument(&f, x);
    const ms_tensor *q = make(model, &f, &l->q_proj, &l->q_norm, heads, *hidden);
    const ms_tensor *k = make(model, &f, &l->k_proj, &l->k_norm, kv_heads, *hidden);
    const ms_tensor *v = make(model, &f, &l->v_proj, NULL, kv_heads, *hidden);
    ms_tensor *out =
        ms_local(&f, model->attention == MS_ATTENTION_EAGER ? eager(model, *q, *k, *v, weights)
                                                            : fused(model, *q, *k, *v));
    ms_assign(&f, out, merged(model, *out));
    ms_assign(&f, out, ms_bounded_linear_call(model, &l->o_proj, *out));
    ms_tensor result = ms_locals_end(&f, out);
    ms_unown(tape, *weights);
    tape->scope = previous;
    return result;
}

/* ---- a layer ---- */

static ms_tensor mlp(ms_model *model, const ms_gemma4_vision_layer *l, ms_tensor x)
{
    ms_tape *tape = model->tape;
    uint32_t previous = ms_scope_enter(tape, l->mlp_scope);
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *hidden = ms_argument(&f, x);
    ms_tensor gate = ms_activate(tape, model->config->vision.activation,
                                 ms_bounded_linear_call(model, &l->gate_proj, *hidden));
    ms_retain(tape, gate);
    ms_tensor up = ms_bounded_linear_call(model, &l->up_proj, *hidden);
    ms_tensor product = ms_idle(tape) ? 0 : ms_mul(tape, ms_unown(tape, gate), up);
    ms_tensor *out = ms_local(&f, ms_bounded_linear_call(model, &l->down_proj, product));
    ms_tensor result = ms_locals_end(&f, out);
    tape->scope = previous;
    return result;
}

/* hidden = residual + norm(hidden) */
static void normalise_and_add(ms_model *model, ms_locals *f, const ms_norm_module *norm,
                              ms_tensor residual, ms_tensor *hidden)
{
    ms_assign(f, hidden, ms_gemma4_norm(model, norm, *hidden));
    ms_assign(f, hidden, ms_add(model->tape, residual, *hidden));
}

static ms_tensor run_layer(ms_tape *tape, void *context, uint64_t number, ms_tensor input)
{
    ms_model *model = context;
    const ms_gemma4_tower *t = model->tower;
    const ms_gemma4_vision_layer *l = &t->layers[number];
    uint32_t previous = ms_scope_enter(tape, l->scope);
    ms_tensor weights = 0;
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *hidden = ms_argument(&f, input);
    ms_tensor *residual = ms_local(&f, *hidden);
    ms_assign(&f, hidden, ms_gemma4_norm(model, &l->before_attention, *hidden));
    ms_assign(&f, hidden, attend(model, l, *hidden, &weights));
    ms_local(&f, weights);
    normalise_and_add(model, &f, &l->after_attention, *residual, hidden);
    ms_assign(&f, residual, *hidden);
    ms_assign(&f, hidden, ms_gemma4_norm(model, &l->before_mlp, *hidden));
    ms_assign(&f, hidden, mlp(model, l, *hidden));
    normalise_and_add(model, &f, &l->after_mlp, *residual, hidden);
    ms_tensor result = ms_locals_end(&f, hidden);
    tape->scope = previous;
    return result;
}

ms_tensor ms_gemma4_vision_layers(ms_model *model, ms_tensor input)
{
    ms_tape *tape = model->tape;
    const ms_gemma4_tower *t = model->tower;
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *hidden = ms_argument(&f, input);
    for (uint64_t i = 0; i < model->config->vision.num_layers && tape->status == MS_OK; i++) {
        const ms_region region = {
            .run = run_layer, .context = model, .number = i, .held = {t->mask, t->sin, t->cos}};
        /* gradient_checkpointing_enable() checkpoints the tower's layers as well */
        ms_assign(&f, hidden,
                  model->run->images.checkpoints ? ms_checkpoint_run(tape, &region, *hidden)
                                                 : run_layer(tape, model, i, *hidden));
    }
    return ms_locals_end(&f, hidden);
}
