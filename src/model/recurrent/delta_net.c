/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/recurrent/delta_net.h"

#include "input/config/model/model_config.h"
#include "model/recurrent/delta.h"
#include "model/recurrent/delta_rule.h"
#include "model/recurrent/short_convolution.h"
#include "torch/ops/ops.h"

typedef struct delta_net {
    uint32_t scope;
    ms_delta_form form;
    ms_delta_dims dims;
    ms_linear_module projections[4]; /* qkvz and ba, or qkv, z, b and a */
    ms_convolution_module convolution;
    ms_tensor dt_bias, a_log;
    ms_norm_module norm;
    ms_linear_module out_proj;
} delta_net;

/* ---- construction ---- */

static ms_delta_dims dims_of(ms_model *model)
{
    ms_symbols *s = &model->tape->trace->symbols;
    const ms_model_config *c = model->config;
    ms_delta_dims d = {.key_heads = ms_dim_name(s, "Lk", c->linear_key_heads),
                       .value_heads = ms_dim_name(s, "Lv", c->linear_value_heads),
                       .key_dim = ms_dim_name(s, "Dk", c->linear_key_dim),
                       .value_dim = ms_dim_name(s, "Dv", c->linear_value_dim)};
    d.repeats = ms_dim_number(s, c->linear_value_heads / c->linear_key_heads);
    return d;
}

static ms_dim keys_width(ms_model *model, const ms_delta_dims *d)
{
    return ms_dim_mul(&model->tape->trace->symbols, d->key_heads, d->key_dim);
}

static ms_dim values_width(ms_model *model, const ms_delta_dims *d)
{
    return ms_dim_mul(&model->tape->trace->symbols, d->value_heads, d->value_dim);
}

/* Of query, key and value side by side. */
static ms_dim mixed_width(ms_model *model, const ms_delta_dims *d)
{
    ms_symbols *s = &model->tape->trace->symbols;
    ms_dim keys = ms_dim_mul(s, ms_dim_number(s, 2), keys_width(model, d));
    return ms_dim_add(s, keys, values_width(model, d));
}

static void build_projections(ms_model *model, delta_net *n)
{
    ms_symbols *s = &model->tape->trace->symbols;
    ms_dim hidden = model->hidden, heads = n->dims.value_heads;
    ms_dim mixed = mixed_width(model, &n->dims), values = values_width(model, &n->dims);
    if (n->form == MS_DELTA_BY_HEADS) {
        ms_dim all = ms_dim_add(s, mixed, values);
        ms_dim both = ms_dim_mul(s, ms_dim_number(s, 2), heads);
        n->projections[0] = ms_linear_new(model, n->scope, "in_proj_qkvz", hidden, all, false);
        n->projections[1] = ms_linear_new(model, n->scope, "in_proj_ba", hidden, both, false);
        return;
    }
    n->projections[0] = ms_linear_new(model, n->scope, "in_proj_qkv", hidden, mixed, false);
    n->projections[1] = ms_linear_new(model, n->scope, "in_proj_z", hidden, values, false);
    n->projections[2] = ms_linear_new(model, n->scope, "in_proj_b", hidden, heads, false);
    n->projections[3] = ms_linear_new(model, n->scope, "in_proj_a", hidden, heads, false);
}

static void build_decays(ms_model *model, delta_net *n, uint32_t first)
{
    ms_shape shape = MS_SHAPE(n->dims.value_heads);
    n->dt_bias = ms_parameter_new(model, n->scope, "dt_bias", shape);
    ms_parameter_move_last(model, first);
    n->a_log = ms_parameter_new(model, n->scope, "A_log", shape);
    ms_parameter_move_last(model, first + 1);
}

void *ms_delta_net_new(ms_model *model, ms_delta_form form, uint32_t parent)
{
    ms_tape *tape = model->tape;
    delta_net *n = ms_arena_array(model->arena, delta_net, 1);
    if (!n)
        return NULL;
    uint32_t first = tape->parameters.count;
    *n = (delta_net){.form = form, .dims = dims_of(model)};
    n->scope = ms_scope_add(tape, parent, "linear_attn", MS_NONE);
    ms_dim width = ms_dim_number(&tape->trace->symbols, model->config->convolution_width);
    n->convolution =
        ms_convolution_new(model, n->scope, "conv1d", mixed_width(model, &n->dims), width, false);
    if (form == MS_DELTA_BY_HEADS)
        build_projections(model, n);
    build_decays(model, n, first);
    n->norm = ms_norm_new(model, n->scope, "norm", n->dims.value_dim, false);
    n->out_proj = ms_linear_new(model, n->scope, "out_proj", values_width(model, &n->dims),
                                model->hidden, false);
    if (form == MS_DELTA_BY_PARTS)
        build_projections(model, n);
    return n;
}

/* ---- forward ---- */

/* The function's locals that outlive a piece of it. */
typedef struct net {
    const delta_net *n;
    ms_locals *f;
    ms_tensor *hidden, *all, *both; /* what one product yields, and the other; by heads only */
    ms_tensor *query, *key, *value, *z, *b, *a, *mixed, *beta, *decay;
} net;

/* In the order of the form's function. */
static void bind(net *t)
{
    ms_tensor **const by_heads[] = {&t->all, &t->both, &t->query, &t->key,  &t->value, &t->z,
                                    &t->b,   &t->a,    &t->mixed, &t->beta, &t->decay};
    ms_tensor **const by_parts[] = {&t->mixed, &t->z,    &t->b,     &t->a,   &t->query, &t->key,
                                    &t->value, &t->beta, &t->decay, &t->all, &t->both};
    enum { LOCALS = sizeof by_heads / sizeof *by_heads };
    for (size_t i = 0; i < LOCALS; i++)
        *(t->n->form == MS_DELTA_BY_HEADS ? by_heads : by_parts)[i] = ms_local(t->f, 0);
}

static ms_shape with_heads(ms_model *model, ms_dim heads, ms_dim width)
{
    return MS_SHAPE(model->batch, model->seq, heads, width);
}

static ms_shape flat(ms_model *model, ms_dim width)
{
    return MS_SHAPE(model->batch, model->seq, width);
}

/* fix_query_key_value_ordering: the parts of each key head's slice, those of values head by head.
 */
static void take_apart(ms_model *model, net *t, ms_tensor all, ms_tensor both)
{
    ms_tape *tape = model->tape;
    ms_symbols *s = &tape->trace->symbols;
    const ms_delta_dims *d = &t->n->dims;
    ms_dim values = ms_dim_mul(s, d->repeats, d->value_dim);
    ms_dim two = ms_dim_number(s, 2), one = ms_dim_mul(s, two, d->key_dim);
    ms_dim slice = ms_dim_add(s, one, ms_dim_mul(s, two, values));
    const ms_dim lengths[] = {d->key_dim, d->key_dim, values, values};
    const ms_dim few[] = {d->repeats, d->repeats};
    ms_tensor parts[4], scales[2];
    all = ms_view(tape, all, with_heads(model, d->key_heads, slice));
    both = ms_view(tape, both, with_heads(model, d->key_heads, ms_dim_mul(s, two, d->repeats)));
    ms_split_into(tape, all, 4, lengths, parts);
    ms_split_into(tape, both, 2, few, scales);
    ms_shape heads = with_heads(model, d->value_heads, d->value_dim);
    ms_assign(t->f, t->query, parts[0]);
    ms_assign(t->f, t->key, parts[1]);
    ms_assign(t->f, t->value, ms_reshape(tape, parts[2], heads));
    ms_assign(t->f, t->z, ms_reshape(tape, parts[3], heads));
    ms_assign(t->f, t->b, ms_reshape(tape, scales[0], flat(model, d->value_heads)));
    ms_assign(t->f, t->a, ms_reshape(tape, scales[1], flat(model, d->value_heads)));
}

static void project_by_heads(ms_model *model, net *t)
{
    ms_tape *tape = model->tape;
    const ms_delta_dims *d = &t->n->dims;
    const ms_linear_module *p = t->n->projections;
    ms_assign(t->f, t->all, ms_linear_call(model, &p[0], *t->hidden));
    ms_assign(t->f, t->both, ms_linear_call(model, &p[1], *t->hidden));
    take_apart(model, t, *t->all, *t->both);
    ms_dim keys = keys_width(model, d);
    ms_assign(t->f, t->query, ms_reshape(tape, *t->query, flat(model, keys)));
    ms_assign(t->f, t->key, ms_reshape(tape, *t->key, flat(model, keys)));
    ms_assign(t->f, t->value, ms_reshape(tape, *t->value, flat(model, values_width(model, d))));
    const ms_tensor parts[] = {*t->query, *t->key, *t->value};
    ms_assign(t->f, t->mixed, ms_cat3(tape, parts, 2));
    ms_assign(t->f, t->mixed, ms_transpose(tape, *t->mixed, 1, 2));
}

static void project_by_parts(ms_model *model, net *t)
{
    ms_tape *tape = model->tape;
    const ms_delta_dims *d = &t->n->dims;
    const ms_linear_module *p = t->n->projections;
    ms_assign(t->f, t->mixed, ms_linear_call(model, &p[0], *t->hidden));
    ms_assign(t->f, t->mixed, ms_transpose(tape, *t->mixed, 1, 2));
    ms_assign(t->f, t->z, ms_linear_call(model, &p[1], *t->hidden));
    ms_shape heads = with_heads(model, d->value_heads, d->value_dim);
    ms_assign(t->f, t->z, ms_reshape(tape, *t->z, heads));
    ms_assign(t->f, t->b, ms_linear_call(model, &p[2], *t->hidden));
    ms_assign(t->f, t->a, ms_linear_call(model, &p[3], *t->hidden));
}

static void mix(ms_model *model, net *t)
{
    ms_tape *tape = model->tape;
    const ms_delta_dims *d = &t->n->dims;
    const ms_dim keys = keys_width(model, d);
    const ms_dim lengths[] = {keys, keys, values_width(model, d)};
    ms_tensor parts[3];
    ms_assign(t->f, t->mixed,
              ms_convolution_call(model, &t->n->convolution, model->config->activation, *t->mixed));
    ms_assign(t->f, t->mixed, ms_transpose(tape, *t->mixed, 1, 2));
    ms_split_into(tape, *t->mixed, 3, lengths, parts);
    ms_shape heads = with_heads(model, d->key_heads, d->key_dim);
    ms_assign(t->f, t->query, parts[0]);
    ms_assign(t->f, t->key, parts[1]);
    ms_assign(t->f, t->value, parts[2]);
    ms_assign(t->f, t->query, ms_reshape(tape, *t->query, heads));
    ms_assign(t->f, t->key, ms_reshape(tape, *t->key, heads));
    ms_assign(t->f, t->value,
              ms_reshape(tape, *t->value, with_heads(model, d->value_heads, d->value_dim)));
}

/* -A_log.float().exp() * softplus(a.float() + dt_bias) */
static ms_tensor decay_of(ms_model *model, const delta_net *n, ms_tensor a)
{
    ms_tape *tape = model->tape;
    if (ms_idle(tape) || !a)
        return 0;
    ms_tensor rate = ms_neg(tape, ms_exp(tape, ms_to(tape, n->a_log, MS_DTYPE_F32)));
    ms_tensor step = ms_add(tape, ms_to(tape, a, MS_DTYPE_F32), n->dt_bias);
    return ms_mul(tape, rate, ms_softplus(tape, step));
}

/* weight * norm(x) * silu(gate), both arguments the caller's locals */
static ms_tensor gated_norm(ms_model *model, const ms_norm_module *norm, ms_tensor x,
                            ms_tensor gate)
{
    ms_tape *tape = model->tape;
    if (ms_idle(tape) || !x)
        return 0;
    uint32_t previous = ms_scope_enter(tape, norm->scope);
    ms_dtype dtype = (ms_dtype)ms_info(tape, x)->dtype;
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *hidden = ms_argument(&f, x);
    ms_tensor *other = ms_argument(&f, gate);
    ms_assign(&f, hidden, ms_to(tape, *hidden, MS_DTYPE_F32));
    ms_tensor *variance = ms_local(&f, ms_mean_last(tape, ms_pow(tape, *hidden)));
    ms_tensor scale = ms_rsqrt(tape, ms_add_scalar(tape, *variance));
    ms_assign(&f, hidden, ms_mul(tape, *hidden, scale));
    ms_assign(&f, hidden, ms_mul(tape, norm->weight, ms_to(tape, *hidden, dtype)));
    ms_tensor opened = ms_silu(tape, ms_to(tape, *other, MS_DTYPE_F32));
    ms_assign(&f, hidden, ms_mul(tape, *hidden, opened));
    ms_tensor out = ms_to(tape, *hidden, dtype);
    ms_retain(tape, out);
    ms_locals_end(&f, NULL);
    tape->scope = previous;
    return ms_unown(tape, out);
}

static ms_tensor finish(ms_model *model, net *t, ms_tensor *core)
{
    ms_tape *tape = model->tape;
    ms_symbols *s = &tape->trace->symbols;
    const ms_delta_dims *d = &t->n->dims;
    ms_dim rows = ms_dim_mul(s, ms_dim_mul(s, model->batch, model->seq), d->value_heads);
    ms_shape by_head = MS_SHAPE(rows, d->value_dim);
    ms_assign(t->f, core, ms_reshape(tape, *core, by_head));
    ms_assign(t->f, t->z, ms_reshape(tape, *t->z, by_head));
    ms_assign(t->f, core, gated_norm(model, &t->n->norm, *core, *t->z));
    ms_assign(t->f, core, ms_reshape(tape, *core, flat(model, values_width(model, d))));
    return ms_linear_call(model, &t->n->out_proj, *core);
}

ms_tensor ms_delta_net(ms_model *model, const void *module, ms_tensor x)
{
    ms_tape *tape = model->tape;
    const delta_net *n = module;
    uint32_t previous = ms_scope_enter(tape, n->scope);
    ms_locals f = ms_locals_begin(tape);
    net t = {.n = n, .f = &f, .hidden = ms_argument(&f, x)};
    bind(&t);
    if (n->form == MS_DELTA_BY_HEADS)
        project_by_heads(model, &t);
    else
        project_by_parts(model, &t);
    mix(model, &t);
    ms_assign(&f, t.beta, ms_sigmoid(tape, *t.b));
    ms_assign(&f, t.decay, decay_of(model, n, *t.a));
    const ms_delta_inputs inputs = {*t.query, *t.key, *t.value, *t.decay, *t.beta};
    ms_tensor *core = ms_local(&f, ms_delta_rule(model, &n->dims, &inputs));
    ms_tensor *out = ms_local(&f, finish(model, &t, core));
    ms_tensor result = ms_locals_end(&f, out);
    tape->scope = previous;
    return result;
}
