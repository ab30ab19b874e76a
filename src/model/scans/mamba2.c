/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Mamba 2: heads with a state each, scanned over chunks of the sequence, between a short
 * convolution and a gated norm.
 */
#include <inttypes.h>
#include <stdio.h>

#include "config/model/unpredicted.h"
#include "model/blocks/cache.h"
#include "model/family/family_keys.h"
#include "model/family/family_list.h"
#include "model/recurrent/chunk_scan.h"
#include "model/recurrent/mamba_model.h"
#include "model/recurrent/state_cache.h"
#include "model/recurrent/short_convolution.h"
#include "ops/ops.h"

enum { MOST_STATES = 1 << 14, MOST_CHUNK = 1 << 16 };

/* clang-format off */
static const ms_key keys[] = {
    COUNT("vocab_size", vocab_size, 32768, MAX_VOCAB),
    COUNT("hidden_size", hidden_size, 4096, MAX_HIDDEN),
    COUNT("num_hidden_layers", num_layers, 64, MAX_LAYERS),
    COUNT("num_heads", scan_heads, 128, MAX_HEADS),
    COUNT("head_dim", scan_head_dim, 64, MAX_HEAD_DIM),
    { .name = "state_size", .kind = MS_KEY_COUNT, .offset = MEMBER(state_size),
      .default_value = 128, .minimum = 2, .maximum = MOST_STATES },
    COUNT("n_groups", state_groups, 8, MAX_HEADS),
    COUNT("expand", expansion, 2, MAX_HEADS),
    COUNT("conv_kernel", convolution_width, 4, MAX_HEAD_DIM),
    { .name = "chunk_size", .kind = MS_KEY_COUNT, .offset = MEMBER(scan_chunk),
      .default_value = 256, .minimum = 2, .maximum = MOST_CHUNK },
    BOOL("use_bias", mlp_bias, false),
    BOOL("use_conv_bias", convolution_bias, true),
    BOOL("residual_in_fp32", residual_in_fp32, true),
    ACTIVATION("hidden_act", MS_ACTIVATION_SILU),
    BOOL("tie_word_embeddings", tie_word_embeddings, false),
    PAD_TOKEN_OR(1),
    DECODER_IGNORED, IGNORED("layer_norm_epsilon"), IGNORED("time_step_rank"),
    IGNORED("time_step_min"), IGNORED("time_step_max"), IGNORED("time_step_floor"),
    IGNORED("time_step_limit"), IGNORED("rescale_prenorm_residual"), IGNORED("rms_norm"),
    IGNORED("norm_before_gate"),
};
/* clang-format on */

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
    m->inner = ms_dim_name(s, "Di", c->hidden_size * c->expansion);
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

static void *build_mixer(ms_model *model, uint32_t parent)
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
    m->in_proj = ms_linear_new(model, m->scope, "in_proj", model->hidden, all, c->mlp_bias);
    m->step_bias = own_parameter(model, m, "dt_bias", first);
    m->decay = own_parameter(model, m, "A_log", first + 1);
    m->norm = ms_norm_new(model, m->scope, "norm", m->inner, false);
    m->direct = own_parameter(model, m, "D", first + 2);
    m->out_proj = ms_linear_new(model, m->scope, "out_proj", m->inner, model->hidden, c->mlp_bias);
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

static void convolve_tokens(ms_model *model, const mixer *m, ms_locals *f, ms_tensor *mixed)
{
    ms_tape *tape = model->tape;
    const ms_dim width = ms_dim_number(&tape->trace->symbols, model->config->convolution_width);
    const uint64_t layer = layer_of(model, m);
    if (ms_state_is_continued(model, layer)) {
        ms_assign(f, mixed, ms_state_convolve(model, layer, &m->convolution, *mixed));
        return;
    }
    ms_assign(f, mixed, ms_state_begin(model, layer, width, *mixed));
    ms_assign(f, mixed, ms_convolution_call(model, &m->convolution, true, *mixed));
    if (model->cache && !ms_idle(tape))
        ms_assign(f, mixed, ms_narrow(tape, *mixed, 2, model->seq));
}

static void convolve(ms_model *model, const mixer *m, ms_locals *f, call *t)
{
    ms_tape *tape = model->tape;
    const ms_dim lengths[] = {m->inner, m->states, m->states};
    ms_tensor parts[3];
    ms_assign(f, t->mixed, ms_transpose(tape, *t->mixed, 1, 2));
    convolve_tokens(model, m, f, t->mixed);
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
    if (model->cache)
        ms_local(f, last); /* with the result, until the mixer returns */
    ms_release(tape, last);
    ms_state_keep(model, layer_of(model, m), last);
    return out;
}

static ms_tensor run_mixer(ms_model *model, const void *module, ms_tensor x)
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

/* ---- the family ---- */

static const ms_mixer_kind kind = {build_mixer, run_mixer};

static bool build(ms_model *model)
{
    return ms_mamba_build(model, &kind);
}

static ms_status derive(ms_model_config *config, ms_error *err)
{
    (void)err;
    config->num_heads = config->num_kv_heads = config->scan_heads;
    config->head_dim = config->scan_head_dim;
    config->intermediate_size = config->hidden_size * config->expansion;
    return MS_OK;
}

static ms_status check(const ms_model_config *c, ms_error *err)
{
    const uint64_t inner = c->hidden_size * c->expansion, heads = c->scan_heads * c->scan_head_dim;
    if (inner != heads) {
        snprintf(err->pointer, sizeof err->pointer, "/num_heads");
        return ms_fail(err, MS_ERR_CONFIG,
                       "%" PRIu64 " heads of %" PRIu64 " are not hidden_size * expand, %" PRIu64,
                       c->scan_heads, c->scan_head_dim, inner);
    }
    if (c->scan_heads % c->state_groups == 0 && inner % c->state_groups == 0)
        return MS_OK;
    snprintf(err->pointer, sizeof err->pointer, "/n_groups");
    return ms_fail(err, MS_ERR_CONFIG, "%" PRIu64 " does not divide num_heads %" PRIu64,
                   c->state_groups, c->scan_heads);
}

static const ms_model_program program = {build, ms_mamba_forward};

const ms_family ms_family_mamba2 = {.model_type = "mamba2",
                                    .classes = {{"Mamba2ForCausalLM", MS_HEAD_CAUSAL_LM}},
                                    .keys = keys,
                                    .key_count = sizeof keys / sizeof *keys,
                                    .derive = derive,
                                    .check = check,
                                    .scales_logits = true, /* to fp32 */
                                    .has_no_attention = true,
                                    .has_no_mlp_module = true,
                                    .unpredicted = MS_UNPREDICTED_HOST_PARAMETERS,
                                    .takes_cache = true,
                                    .program = &program};
