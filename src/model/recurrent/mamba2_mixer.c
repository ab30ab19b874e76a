/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/recurrent/mamba2_mixer.h"

#include "input/config/model/model_config.h"
#include "model/blocks/blocks.h"
#include "model/blocks/cache.h"
#include "model/recurrent/chunk_scan.h"
#include "model/recurrent/short_convolution.h"
#include "model/recurrent/state_cache.h"
#include "torch/ops/ops.h"

typedef struct mixer {
    uint32_t scope;
    ms_convolution_module convolution;
    ms_linear_module in_proj, out_proj;
    ms_tensor step_bias, decay, direct; /* [heads] */
    ms_norm_module norm;
    ms_dim inner, states, heads, mixed; /* widths of the projection's parts */
} mixer;

/* ---- construction ---- */

static void measure(ms_model *model, mixer *m)
{
    ms_symbols *s = &model->tape->trace->symbols;
    const ms_model_config *c = model->config;
    m->inner = ms_dim_name(s, "Di", c->scan_heads * c->scan_head_dim);
    m->heads = ms_dim_name(s, "Hs", c->scan_heads);
    m->states =
        ms_dim_mul(s, ms_dim_name(s, "G", c->state_groups), ms_dim_name(s, "N", c->state_size));
    m->mixed = ms_dim_add(s, m->inner, ms_dim_mul(s, ms_dim_number(s, 2), m->states));
}

/* A parameter of the mixer itself, which precedes those of its modules. */
static ms_tensor own_parameter(ms_model *model, const mixer *m, const char *name, uint32_t place)
{
    ms_tensor out = ms_parameter_new(model, m->scope, name, MS_SHAPE(m->heads));
    ms_parameter_move_last(model, place);
    return out;
}

void *ms_mamba2_mixer_new(ms_model *model, uint32_t parent)
{
    const ms_model_config *c = model->config;
    ms_symbols *s = &model->tape->trace->symbols;
    mixer *m = ms_arena_array(model->arena, mixer, 1);
    if (!m)
        return NULL;
    uint32_t first = model->tape->parameters.count;
    measure(model, m);
    m->scope = ms_scope_add(model->tape, parent, "mixer", MS_NONE);
    ms_dim width = ms_dim_number(s, c->convolution_width);
    m->convolution =
        ms_convolution_new(model, m->scope, "conv1d", m->mixed, width, c->convolution_bias);
    ms_dim all = ms_dim_add(s, ms_dim_add(s, m->inner, m->mixed), m->heads);
    m->in_proj = ms_linear_new(model, m->scope, "in_proj", model->hidden, all, c->scan_bias);
    m->step_bias = own_parameter(model, m, "dt_bias", first);
    m->decay = own_parameter(model, m, "A_log", first + 1);
    m->norm = ms_norm_new(model, m->scope, "norm", m->inner, false);
    m->direct = own_parameter(model, m, "D", first + 2);
    m->out_proj = ms_linear_new(model, m->scope, "out_proj", m->inner, model->hidden, c->scan_bias);
    return m;
}

/* ---- forward ---- */

/* weight * norm(x * silu(gate)), each group of the width by itself; in fp32, as x is */
static ms_tensor gated_norm(ms_model *model, const mixer *m, ms_tensor x, ms_tensor gate)
{
    ms_tape *tape = model->tape;
    ms_symbols *s = &tape->trace->symbols;
    if (ms_idle(tape) || !x)
        return 0;
    uint32_t previous = ms_scope_enter(tape, m->norm.scope);
    const ms_shape shape = ms_info(tape, x)->shape;
    const uint64_t groups = model->config->state_groups;
    ms_shape by_group = shape;
    by_group.dims[by_group.rank - 1] = ms_dim_number(s, groups);
    by_group.dims[by_group.rank++] = ms_dim_number(s, m->inner.value / groups);
    const ms_dtype dtype = (ms_dtype)ms_info(tape, x)->dtype;
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *hidden = ms_argument(&f, x);
    ms_tensor *other = ms_argument(&f, gate);
    ms_assign(&f, hidden, ms_to(tape, *hidden, MS_DTYPE_F32));
    ms_tensor open = ms_silu(tape, ms_to(tape, *other, MS_DTYPE_F32));
    ms_assign(&f, hidden, ms_mul(tape, *hidden, open));
    ms_tensor *grouped = ms_local(&f, ms_view(tape, *hidden, by_group));
    ms_tensor *variance = ms_local(&f, ms_mean_last(tape, ms_pow(tape, *grouped)));
    ms_tensor scale = ms_rsqrt(tape, ms_add_scalar(tape, *variance));
    ms_assign(&f, grouped, ms_mul(tape, *grouped, scale));
    ms_assign(&f, hidden, ms_view(tape, *grouped, shape));
    ms_tensor cast = ms_idle(tape) ? 0 : ms_to(tape, *hidden, dtype);
    ms_tensor out = ms_mul(tape, m->norm.weight, cast);
    ms_retain(tape, out);
    ms_locals_end(&f, NULL);
    tape->scope = previous;
    return ms_unown(tape, out);
}

/* The mixer's locals, in the function's order. */
typedef struct call {
    ms_tensor *hidden, *projected, *decay, *gate, *mixed, *step, *key, *query, *output, *result;
} call;

static void project(ms_model *model, const mixer *m, ms_locals *f, call *t)
{
    ms_tape *tape = model->tape;
    const ms_dim lengths[] = {m->inner, m->mixed, m->heads};
    ms_tensor parts[3];
    t->projected = ms_local(f, ms_linear_call(model, &m->in_proj, *t->hidden));
    ms_tensor rate = ms_idle(tape) ? 0 : ms_exp(tape, ms_to(tape, m->decay, MS_DTYPE_F32));
    t->decay = ms_local(f, ms_neg(tape, rate));
    ms_split_into(tape, *t->projected, 3, lengths, parts);
    t->gate = ms_local(f, parts[0]);
    t->mixed = ms_local(f, parts[1]);
    t->step = ms_local(f, parts[2]);
}

static uint64_t layer_of(const ms_model *model, const mixer *m)
{
    return ms_scope_layer(model->tape, m->scope);
}

static void convolve(ms_model *model, const mixer *m, ms_locals *f, call *t)
{
    ms_tape *tape = model->tape;
    const ms_dim lengths[] = {m->inner, m->states, m->states};
    ms_tensor parts[3];
    ms_assign(f, t->mixed, ms_transpose(tape, *t->mixed, 1, 2));
    ms_state_convolve(model, layer_of(model, m), &m->convolution, model->config->scan_activation, f,
                      t->mixed);
    ms_assign(f, t->mixed, ms_transpose(tape, *t->mixed, 1, 2));
    ms_split_into(tape, *t->mixed, 3, lengths, parts);
    ms_assign(f, t->hidden, parts[0]);
    t->key = ms_local(f, parts[1]);
    t->query = ms_local(f, parts[2]);
}

/* One token's, [B, heads, width]. */
static ms_tensor continue_scan(ms_model *model, const mixer *m, const call *t)
{
    ms_tape *tape = model->tape;
    ms_symbols *s = &tape->trace->symbols;
    const ms_model_config *c = model->config;
    ms_shape by_head = MS_SHAPE(model->batch, m->heads, ms_dim_name(s, "Ds", c->scan_head_dim));
    ms_shape by_group = MS_SHAPE(model->batch, ms_dim_name(s, "G", c->state_groups),
                                 ms_dim_name(s, "N", c->state_size));
    const ms_scan_inputs in = {.hidden = ms_reshape(tape, *t->hidden, by_head),
                               .step = ms_select(tape, *t->step, 1),
                               .decay = *t->decay,
                               .key = ms_reshape(tape, *t->key, by_group),
                               .query = ms_reshape(tape, *t->query, by_group),
                               .direct = m->direct,
                               .step_bias = m->step_bias};
    return ms_chunk_update(model, &in, model->cache->layers[layer_of(model, m)].values);
}

static ms_tensor scan(ms_model *model, const mixer *m, ms_locals *f, const call *t)
{
    ms_tensor last = 0;
    ms_tape *tape = model->tape;
    ms_symbols *s = &tape->trace->symbols;
    const ms_model_config *c = model->config;
    if (ms_idle(tape) || !*t->hidden)
        return 0;
    if (ms_state_is_continued(model, layer_of(model, m)))
        return continue_scan(model, m, t);
    ms_dim width = ms_dim_name(s, "Ds", c->scan_head_dim);
    ms_shape by_head = MS_SHAPE(model->batch, model->seq, m->heads, width);
    ms_shape by_group = MS_SHAPE(model->batch, model->seq, ms_dim_name(s, "G", c->state_groups),
                                 ms_dim_name(s, "N", c->state_size));
    const ms_scan_inputs in = {.hidden = ms_view(tape, *t->hidden, by_head),
                               .step = *t->step,
                               .decay = *t->decay,
                               .key = ms_view(tape, *t->key, by_group),
                               .query = ms_view(tape, *t->query, by_group),
                               .direct = m->direct,
                               .step_bias = m->step_bias};
    ms_tensor out = ms_chunk_scan(model, &in, &last);
    ms_state_keep(model, layer_of(model, m), f, last);
    return out;
}

ms_tensor ms_mamba2_mixer_call(ms_model *model, const void *module, ms_tensor x)
{
    ms_tape *tape = model->tape;
    const mixer *m = module;
    uint32_t previous = ms_scope_enter(tape, m->scope);
    const ms_dtype dtype = ms_idle(tape) ? MS_DTYPE_F32 : (ms_dtype)ms_info(tape, x)->dtype;
    ms_locals f = ms_locals_begin(tape);
    call t = {.hidden = ms_argument(&f, x)};
    project(model, m, &f, &t);
    convolve(model, m, &f, &t);
    t.output = ms_local(&f, 0);
    t.result = ms_local(&f, scan(model, m, &f, &t));
    ms_assign(&f, t.output, *t.result);
    if (!ms_idle(tape))
        ms_assign(&f, t.output,
                  ms_reshape(tape, *t.output, MS_SHAPE(model->batch, model->seq, m->inner)));
    ms_assign(&f, t.output, gated_norm(model, m, *t.output, *t.gate));
    ms_tensor cast = ms_idle(tape) ? 0 : ms_to(tape, *t.output, dtype);
    ms_tensor *out = ms_local(&f, ms_linear_call(model, &m->out_proj, cast));
    ms_tensor result = ms_locals_end(&f, out);
    tape->scope = previous;
    return result;
}
