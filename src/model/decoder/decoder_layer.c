/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/decoder/decoder_layer.h"

#include "input/config/model/model_config.h"
#include "model/blocks/cache.h"
#include "model/blocks/host/host_modules.h"
#include "model/blocks/tensor_parallel.h"
#include "model/decoder/decoder.h"
#include "model/decoder/decoder_tables.h"
#include "torch/ops/liger/liger.h"
#include "torch/ops/ops.h"

/* ---- attention ---- */

ms_projections ms_projections_new(ms_model *model, const ms_decoder *d, uint32_t parent)
{
    ms_symbols *s = &model->tape->trace->symbols;
    const ms_decoder_style *style = &d->style;
    ms_dim q = ms_dim_mul(s, model->heads, model->head_dim);
    ms_dim kv = ms_dim_mul(s, model->kv_heads, model->head_dim);
    uint32_t scope = ms_scope_add(model->tape, parent, "self_attn", MS_NONE);
    ms_projections p = {.scope = scope};
    p.q_proj = ms_linear_new(model, scope, "q_proj", model->hidden, q, style->qkv_bias);
    p.k_proj = ms_linear_new(model, scope, "k_proj", model->hidden, kv, style->qkv_bias);
    p.v_proj = ms_linear_new(model, scope, "v_proj", model->hidden, kv, style->qkv_bias);
    p.o_proj = ms_linear_new(model, scope, "o_proj", q, model->hidden, style->output_bias);
    return p;
}

void ms_split_heads(ms_model *model, ms_locals *f, ms_tensor *query, ms_tensor *key,
                    ms_tensor *value)
{
    ms_assign(f, query, ms_as_heads(model, *query, model->heads));
    ms_assign(f, key, ms_as_heads(model, *key, model->kv_heads));
    ms_assign(f, value, ms_as_heads(model, *value, model->kv_heads));
}

typedef struct self_attention {
    ms_projections proj;
    ms_norm_module q_norm, k_norm;
    ms_tensor sinks; /* 0: none */
} self_attention;

static ms_norm_module head_norm_new(ms_model *model, uint32_t scope, const char *name)
{
    ms_norm_module norm = ms_norm_new(model, scope, name, model->head_dim, false);
    norm.place = MS_LIGER_NORM_OF_HEADS;
    return norm;
}

void *ms_self_attention_new(ms_model *model, const ms_decoder *d, uint32_t parent, uint32_t number)
{
    (void)number;
    const ms_decoder_style *style = &d->style;
    self_attention *a = ms_arena_array(model->arena, self_attention, 1);
    if (!a)
        return NULL;
    uint32_t first = model->tape->parameters.count;
    a->proj = ms_projections_new(model, d, parent);
    uint32_t scope = a->proj.scope;
    if (style->sinks) {
        a->sinks = ms_parameter_new(model, scope, "sinks", MS_SHAPE(model->heads));
        ms_parameter_move_last(model, first);
    }
    if (style->head_norms != MS_HEAD_NORMS_NONE) {
        a->q_norm = head_norm_new(model, scope, "q_norm");
        a->k_norm = head_norm_new(model, scope, "k_norm");
    }
    return a;
}

static ms_tensor project(ms_model *model, const ms_decoder *d, const ms_linear_module *linear,
                         const ms_norm_module *norm, ms_tensor hidden, ms_dim heads)
{
    ms_tensor out = ms_view(model->tape, ms_linear_call(model, linear, hidden),
                            MS_SHAPE(model->batch, model->seq, heads, model->head_dim));
    if (d->style.head_norms == MS_HEAD_NORMS_BETWEEN)
        return out;
    if (norm && d->style.head_norms == MS_HEAD_NORMS_AT_ONCE)
        out = d->style.norm(model, norm, out);
    return ms_transpose(model->tape, out, 1, 2);
}

/* Query and key, where their norms stand here. */
static void normalise_heads(ms_model *model, ms_locals *f, const self_attention *a,
                            ms_head_norms here, ms_tensor *query, ms_tensor *key)
{
    const ms_decoder *d = model->modules;
    if (d->style.head_norms != here)
        return;
    ms_assign(f, query, d->style.norm(model, &a->q_norm, *query));
    ms_assign(f, key, d->style.norm(model, &a->k_norm, *key));
}

/* The same where no view stands between the projections. */
static void project_first(ms_model *model, const ms_projections *p, ms_locals *f, ms_tensor hidden,
                          ms_tensor *out[3])
{
    const ms_linear_module *const linear[] = {&p->q_proj, &p->k_proj, &p->v_proj};
    for (int i = 0; i < 3; i++)
        out[i] = ms_local(f, ms_linear_call(model, linear[i], hidden));
    for (int i = 0; i < 3; i++)
        ms_assign(f, out[i], ms_as_heads(model, *out[i], i == 0 ? model->heads : model->kv_heads));
}

/* Query, key and value, locals of `f`, as [B, H, S, D]. */
static void project_all(ms_model *model, const ms_decoder *d, const self_attention *a, ms_locals *f,
                        ms_tensor hidden, ms_tensor *out[3])
{
    const ms_projections *p = &a->proj;
    if (d->style.projects_first) {
        project_first(model, p, f, hidden, out);
        return;
    }
    out[0] = ms_local(f, project(model, d, &p->q_proj, &a->q_norm, hidden, model->heads));
    out[1] = ms_local(f, project(model, d, &p->k_proj, &a->k_norm, hidden, model->kv_heads));
    out[2] = ms_local(f, project(model, d, &p->v_proj, NULL, hidden, model->kv_heads));
    normalise_heads(model, f, a, MS_HEAD_NORMS_BETWEEN, out[0], out[1]);
    for (int i = 0; i < 3 && d->style.head_norms == MS_HEAD_NORMS_BETWEEN; i++)
        ms_assign(f, out[i], ms_transpose(model->tape, *out[i], 1, 2));
    normalise_heads(model, f, a, MS_HEAD_NORMS_LAST, out[0], out[1]);
}

static bool knows_positions(const ms_model *model, uint64_t layer)
{
    return !(ms_layer_kind(model->config, layer) & MS_LAYER_NO_ROTARY);
}

void ms_apply_rotary(ms_model *model, ms_locals *f, const ms_decoder_layer *layer, ms_tensor *query,
                     ms_tensor *key)
{
    const ms_decoder *d = model->modules;
    const ms_rotary *rotary = ms_decoder_rotary(model, d, layer->number);
    ms_tensor turned[2];
    if (model->run->liger & MS_LIGER_ROPE)
        ms_liger_rope(model->tape, *query, *key, rotary->cos, rotary->sin, turned);
    else
        d->style.rotary(model, *query, *key, rotary->cos, rotary->sin, turned);
    ms_assign(f, query, turned[0]);
    ms_assign(f, key, turned[1]);
}

/* What follows the attention interface; ends the caller's frame. */
static ms_tensor project_attended(ms_model *model, ms_locals *f, ms_tensor attended,
                                  const ms_linear_module *output, ms_tensor *weights)
{
    ms_tape *tape = model->tape;
    ms_tensor *out = ms_local(f, attended);
    ms_retain(tape, *weights);
    ms_dim head = ms_idle(tape) || !*out ? model->head_dim : ms_info(tape, *out)->shape.dims[3];
    ms_dim width = ms_dim_mul(&tape->trace->symbols, model->heads, head);
    ms_assign(f, out, ms_reshape(tape, *out, MS_SHAPE(model->batch, model->seq, width)));
    ms_assign(f, out, ms_linear_call(model, output, *out));
    ms_tensor result = ms_locals_end(f, out);
    ms_unown(tape, *weights);
    return result;
}

ms_tensor ms_self_attention(ms_model *model, ms_decoder *d, const ms_decoder_layer *layer,
                            ms_tensor x, ms_tensor *weights)
{
    ms_tape *tape = model->tape;
    const self_attention *a = layer->attention;
    ms_tensor mask = ms_decoder_mask(model, d, layer->number);
    const ms_projections *p = &a->proj;
    uint32_t previous = ms_scope_enter(tape, p->scope);
    const ms_fetched fetched = ms_host_fetch_pair(model, a->sinks, 0);
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *hidden = ms_argument(&f, x);
    ms_tensor *q_k_v[3];
    project_all(model, d, a, &f, *hidden, q_k_v);
    ms_tensor *query = q_k_v[0], *key = q_k_v[1], *value = q_k_v[2];
    if (knows_positions(model, layer->number))
        ms_apply_rotary(model, &f, layer, query, key);
    ms_cache_append(model, &f, layer->number, key, value);
    ms_tensor result;
    if (a->sinks)
        result = project_attended(
            model, &f, ms_sink_attention(model, *query, *key, *value, mask, a->sinks, weights),
            &p->o_proj, weights);
    else
        result = ms_attend_and_project(model, &f, layer, (ms_tensor[]){*query, *key, *value}, mask,
                                       &p->o_proj, weights);
    ms_host_drop(model, &fetched);
    tape->scope = previous;
    return result;
}

ms_tensor ms_attend_and_project(ms_model *model, ms_locals *f, const ms_decoder_layer *layer,
                                const ms_tensor q_k_v[3], ms_tensor mask,
                                const ms_linear_module *output, ms_tensor *weights)
{
    ms_tensor out =
        ms_attention_call(model, layer->number, q_k_v[0], q_k_v[1], q_k_v[2], mask, weights);
    return project_attended(model, f, out, output, weights);
}

/* ---- layer ---- */

ms_tensor ms_norm_at(ms_model *model, const ms_decoder_layer *layer, ms_norm_place place,
                     ms_tensor hidden)
{
    const ms_decoder *d = model->modules;
    return d->style.norm(model, &layer->norms[place], hidden);
}

ms_tensor ms_layer_attention(ms_model *model, const ms_decoder_layer *layer, ms_locals *f,
                             ms_tensor hidden)
{
    ms_decoder *d = model->modules;
    ms_tensor weights = 0;
    ms_tensor input = ms_module_input(model, hidden);
    ms_tensor out = d->style.attention(model, d, layer, input, &weights);
    ms_local(f, weights);
    return out;
}

static ms_tensor run_mlp(ms_tape *tape, void *context, uint64_t number, ms_tensor hidden)
{
    (void)tape;
    ms_model *model = context;
    const ms_decoder *d = model->modules;
    return d->style.mlp(model, &d->layers[number], hidden);
}

ms_tensor ms_layer_mlp(ms_model *model, const ms_decoder_layer *layer, ms_tensor hidden)
{
    const ms_region region = {.run = run_mlp, .context = model, .number = layer->number};
    return ms_mlp_call(model, &region, ms_module_input(model, hidden));
}

/* hidden = norm(hidden), where the layer has one. */
static void normalise(ms_model *model, ms_locals *f, const ms_decoder_layer *layer,
                      ms_norm_place place, ms_tensor *hidden)
{
    if (layer->norms[place].weight)
        ms_assign(f, hidden, ms_norm_at(model, layer, place, *hidden));
}

/* hidden = residual + dropout(hidden) */
static void add_residual(ms_model *model, ms_locals *f, ms_tensor residual, ms_tensor *hidden)
{
    ms_tensor branch = ms_dropout(model->tape, *hidden, model->config->residual_dropout);
    ms_assign(f, hidden, ms_add(model->tape, residual, branch));
}

ms_tensor ms_residual_layer(ms_tape *tape, void *context, uint64_t number, ms_tensor input)
{
    ms_model *model = context;
    ms_decoder *d = model->modules;
    const ms_decoder_layer *l = &d->layers[number];
    uint32_t previous = ms_scope_enter(tape, l->scope);
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *hidden = ms_argument(&f, input);
    ms_tensor *residual = ms_local(&f, *hidden);
    normalise(model, &f, l, MS_NORM_BEFORE_ATTENTION, hidden);
    ms_assign(&f, hidden, ms_layer_attention(model, l, &f, *hidden));
    normalise(model, &f, l, MS_NORM_AFTER_ATTENTION, hidden);
    add_residual(model, &f, *residual, hidden);
    ms_assign(&f, residual, *hidden);
    normalise(model, &f, l, MS_NORM_BEFORE_MLP, hidden);
    ms_assign(&f, hidden, ms_layer_mlp(model, l, *hidden));
    normalise(model, &f, l, MS_NORM_AFTER_MLP, hidden);
    add_residual(model, &f, *residual, hidden);
    ms_tensor result = ms_locals_end(&f, hidden);
    tape->scope = previous;
    return result;
}
