/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Gemma 4's norm and attention.
 */
#include "model/dense/gemma4/attention.h"

#include "input/config/model/layer_kinds.h"
#include "input/config/model/model_config.h"
#include "model/blocks/cache.h"
#include "model/blocks/powered_norm.h"
#include "model/decoder/decoder_layer.h"
#include "model/decoder/decoder_tables.h"
#include "torch/ops/ops.h"
#include "torch/treatments/recompute.h"

/* ---- norm ---- */

ms_tensor ms_gemma4_norm(ms_model *model, const ms_norm_module *module, ms_tensor x)
{
    return ms_powered_norm_call(model, module, x);
}

ms_tensor ms_gemma4_unit_norm(ms_model *model, ms_tensor x)
{
    return ms_powered_unit_norm(model->tape, x);
}

/* ---- attention ---- */

typedef struct attention {
    uint32_t scope, v_norm;                          /* modules; the latter has no parameters */
    ms_linear_module q_proj, k_proj, v_proj, o_proj; /* weight 0: none */
    ms_norm_module q_norm, k_norm;
    ms_dim head_dim, kv_heads;
} attention;

static void set_heads(const ms_model *model, attention *a, uint32_t number)
{
    const ms_model_config *c = model->config;
    ms_symbols *s = &model->tape->trace->symbols;
    bool is_wide = ms_layer_is_wide(c, number);
    a->head_dim = is_wide ? ms_dim_name(s, "Dw", c->wide_head_dim) : model->head_dim;
    a->kv_heads =
        is_wide && c->wide_kv_heads ? ms_dim_name(s, "Hw", c->wide_kv_heads) : model->kv_heads;
}

static ms_norm_module head_norm(ms_model *model, const attention *a, const char *name)
{
    ms_norm_module module = ms_norm_new(model, a->scope, name, a->head_dim, false);
    module.place = MS_LIGER_NORM_OF_HEADS;
    return module;
}

/* Gemma 3n's norms of keys and values stand behind the projections, and values are projected when
 * the keys are done. */
static bool is_3n(const ms_model_config *config)
{
    return config->altup_streams > 0;
}

static void key_norms_new(ms_model *model, attention *a)
{
    a->k_norm = head_norm(model, a, "k_norm");
    a->v_norm = ms_scope_add(model->tape, a->scope, "v_norm", MS_NONE);
}

void *ms_gemma4_attention_new(ms_model *model, const ms_decoder *d, uint32_t parent,
                              uint32_t number)
{
    ms_symbols *s = &model->tape->trace->symbols;
    const ms_model_config *c = model->config;
    bool bias = d->style.qkv_bias;
    attention *a = ms_arena_array(model->arena, attention, 1);
    if (!a)
        return NULL;
    set_heads(model, a, number);
    a->scope = ms_scope_add(model->tape, parent, "self_attn", MS_NONE);
    ms_dim q = ms_dim_mul(s, model->heads, a->head_dim);
    ms_dim kv = ms_dim_mul(s, a->kv_heads, a->head_dim);
    a->q_proj = ms_linear_new(model, a->scope, "q_proj", model->hidden, q, bias);
    a->q_norm = head_norm(model, a, "q_norm");
    if (!ms_layer_reads_keys(c, number)) {
        if (!is_3n(c))
            key_norms_new(model, a);
        a->k_proj = ms_linear_new(model, a->scope, "k_proj", model->hidden, kv, bias);
        if (!c->keys_are_values || ms_layer_slides(c, number))
            a->v_proj = ms_linear_new(model, a->scope, "v_proj", model->hidden, kv, bias);
        if (is_3n(c))
            key_norms_new(model, a);
    }
    a->o_proj = ms_linear_new(model, a->scope, "o_proj", q, model->hidden, bias);
    return a;
}

static ms_tensor project(ms_model *model, const attention *a, const ms_linear_module *linear,
                         ms_dim heads, ms_tensor hidden)
{
    return ms_view(model->tape, ms_linear_call(model, linear, hidden),
                   MS_SHAPE(model->batch, model->seq, heads, a->head_dim));
}

/* x = turned(norm(x)), as [B, H, S, D] */
static void normalise_and_turn(ms_model *model, ms_locals *f, const ms_decoder_layer *layer,
                               const ms_norm_module *module, ms_tensor *x)
{
    const ms_rotary *r = ms_decoder_rotary(model, model->modules, layer->number);
    ms_assign(f, x, ms_gemma4_norm(model, module, *x));
    ms_assign(f, x, ms_rotary_turn(model->tape, *x, r->cos, r->sin, 2));
    ms_assign(f, x, ms_transpose(model->tape, *x, 1, 2));
}

/* shared_kv_states[kind] = what it made */
static void store(ms_model *model, uint32_t number, const ms_tensor made[MS_GEMMA4_KEYS])
{
    ms_tape *tape = model->tape;
    ms_tensor *row = ms_gemma4_shared_row(model, number);
    if (ms_idle(tape))
        return;
    for (int i = 0; i < MS_GEMMA4_KEYS; i++) {
        ms_retain(tape, made[i]);
        ms_release(tape, row[i]);
        row[i] = made[i];
    }
    ms_checkpoint_keep_graph(tape, made, &model->shared);
}

static void read(ms_model *model, ms_locals *f, uint32_t number, ms_tensor *key, ms_tensor *value)
{
    const ms_tensor *row = ms_gemma4_shared_row(model, number);
    ms_assign(f, key, ms_idle(model->tape) ? 0 : row[MS_GEMMA4_KEY]);
    ms_assign(f, value, ms_idle(model->tape) ? 0 : row[MS_GEMMA4_VALUE]);
}

static void make(ms_model *model, ms_locals *f, const ms_decoder_layer *layer, ms_tensor hidden,
                 ms_tensor *key, ms_tensor *value)
{
    const attention *a = layer->attention;
    const bool values_last = is_3n(model->config);
    ms_assign(f, key, project(model, a, &a->k_proj, a->kv_heads, hidden));
    if (!values_last)
        ms_assign(f, value,
                  a->v_proj.weight ? project(model, a, &a->v_proj, a->kv_heads, hidden) : *key);
    normalise_and_turn(model, f, layer, &a->k_norm, key);
    if (values_last)
        ms_assign(f, value, project(model, a, &a->v_proj, a->kv_heads, hidden));
    uint32_t previous = ms_scope_enter(model->tape, a->v_norm);
    ms_assign(f, value, ms_gemma4_unit_norm(model, *value));
    model->tape->scope = previous;
    ms_assign(f, value, ms_transpose(model->tape, *value, 1, 2));
    ms_cache_append(model, f, layer->number, key, value);
}

ms_tensor ms_gemma4_attention(ms_model *model, ms_decoder *d, const ms_decoder_layer *layer,
                              ms_tensor x, ms_tensor *weights)
{
    ms_tape *tape = model->tape;
    const attention *a = layer->attention;
    uint32_t previous = ms_scope_enter(tape, a->scope);
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *hidden = ms_argument(&f, x);
    ms_tensor *query = ms_local(&f, project(model, a, &a->q_proj, model->heads, *hidden));
    normalise_and_turn(model, &f, layer, &a->q_norm, query);
    ms_tensor *key = ms_local(&f, 0), *value = ms_local(&f, 0);
    if (ms_layer_reads_keys(model->config, layer->number))
        read(model, &f, layer->number, key, value);
    else
        make(model, &f, layer, *hidden, key, value);
    if (ms_layer_stores_keys(model->config, layer->number))
        store(model, layer->number,
              (ms_tensor[]){[MS_GEMMA4_VALUE] = *value, [MS_GEMMA4_KEY] = *key});
    ms_tensor mask = ms_decoder_mask(model, d, layer->number);
    ms_tensor result = ms_attend_and_project(model, &f, layer, (ms_tensor[]){*query, *key, *value},
                                             mask, &a->o_proj, weights);
    tape->scope = previous;
    return result;
}
