/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/decoder.h"

#include <stdio.h>

#include "ops/ops.h"

typedef struct layer {
    uint32_t scope, attention_scope, mlp_scope;
    ms_linear_module q_proj, k_proj, v_proj, o_proj;
    ms_norm_module q_norm, k_norm;
    ms_linear_module gate_proj, up_proj, down_proj;
    ms_norm_module input_norm, post_attention_norm;
} layer;

typedef struct decoder {
    ms_decoder_style style;
    uint32_t scope, rotary_scope;
    ms_tensor embedding;
    uint32_t embedding_scope;
    layer *layers;
    ms_norm_module norm;
    ms_tensor inv_freq[2];
    ms_linear_module head;
    /* Of the running micro-batch: a checkpointed layer finds them here. */
    ms_tensor cos, sin, full_mask, sliding_mask;
} decoder;

/* ---- construction ---- */

static void build_attention(ms_model *model, decoder *d, layer *l)
{
    ms_symbols *s = &model->tape->trace->symbols;
    ms_dim q = ms_dim_mul(s, model->heads, model->head_dim);
    ms_dim kv = ms_dim_mul(s, model->kv_heads, model->head_dim);
    uint32_t scope = l->attention_scope = ms_scope_add(model->tape, l->scope, "self_attn", MS_NONE);
    l->q_proj = ms_linear_new(model, scope, "q_proj", model->hidden, q, d->style.qkv_bias);
    l->k_proj = ms_linear_new(model, scope, "k_proj", model->hidden, kv, d->style.qkv_bias);
    l->v_proj = ms_linear_new(model, scope, "v_proj", model->hidden, kv, d->style.qkv_bias);
    l->o_proj = ms_linear_new(model, scope, "o_proj", q, model->hidden, d->style.output_bias);
    if (d->style.head_norms) {
        l->q_norm = ms_norm_new(model, scope, "q_norm", model->head_dim, false);
        l->k_norm = ms_norm_new(model, scope, "k_norm", model->head_dim, false);
    }
}

static void build_mlp(ms_model *model, decoder *d, layer *l)
{
    bool bias = d->style.mlp_bias;
    uint32_t scope = l->mlp_scope = ms_scope_add(model->tape, l->scope, "mlp", MS_NONE);
    l->gate_proj =
        ms_linear_new(model, scope, "gate_proj", model->hidden, model->intermediate, bias);
    l->up_proj = ms_linear_new(model, scope, "up_proj", model->hidden, model->intermediate, bias);
    l->down_proj =
        ms_linear_new(model, scope, "down_proj", model->intermediate, model->hidden, bias);
}

static void build_layer(ms_model *model, decoder *d, uint32_t layers_scope, uint32_t number)
{
    char name[16];
    snprintf(name, sizeof name, "%u", number);
    layer *l = &d->layers[number];
    l->scope = ms_scope_add(model->tape, layers_scope, name, number);
    build_attention(model, d, l);
    build_mlp(model, d, l);
    l->input_norm = ms_norm_new(model, l->scope, "input_layernorm", model->hidden, false);
    l->post_attention_norm =
        ms_norm_new(model, l->scope, "post_attention_layernorm", model->hidden, false);
}

bool ms_decoder_build(ms_model *model, ms_decoder_style style)
{
    decoder *d = ms_arena_array(model->arena, decoder, 1);
    uint64_t count = model->config->num_layers;
    layer *layers = ms_arena_array(model->arena, layer, count);
    if (!d || !layers)
        return false;
    model->modules = d;
    d->layers = layers;
    d->style = style;
    d->scope = ms_scope_add(model->tape, MS_NONE, "model", MS_NONE);
    d->embedding = ms_embedding_new(model, d->scope, "embed_tokens", model->vocab, model->hidden);
    d->embedding_scope = model->tape->trace->scopes.count - 1;
    uint32_t layers_scope = ms_scope_add(model->tape, d->scope, "layers", MS_NONE);
    for (uint32_t i = 0; i < count && model->tape->status == MS_OK; i++)
        build_layer(model, d, layers_scope, i);
    d->norm = ms_norm_new(model, d->scope, "norm", model->hidden, false);
    ms_rotary_new(model, d->scope, d->inv_freq);
    d->rotary_scope = model->tape->trace->scopes.count - 1;
    d->head = ms_head_new(model, d->embedding);
    return true;
}

/* ---- forward ---- */

static ms_tensor mask_of(const ms_model *model, const decoder *d, uint64_t number)
{
    return ms_layer_slides(model->config, number) ? d->sliding_mask : d->full_mask;
}

static ms_tensor project(ms_model *model, const ms_linear_module *linear,
                         const ms_norm_module *norm, ms_tensor hidden, ms_dim heads)
{
    ms_tensor out = ms_view(model->tape, ms_linear_call(model, linear, hidden),
                            MS_SHAPE(model->batch, model->seq, heads, model->head_dim));
    if (norm)
        out = ms_rms_norm_call(model, norm, out);
    return ms_transpose(model->tape, out, 1, 2);
}

static ms_tensor attention(ms_model *model, decoder *d, uint64_t number, ms_tensor x,
                           ms_tensor *weights)
{
    ms_tape *tape = model->tape;
    const layer *l = &d->layers[number];
    ms_tensor mask = mask_of(model, d, number);
    uint32_t previous = ms_scope_enter(tape, l->attention_scope);
    bool norms = d->style.head_norms;
    ms_frame f = ms_frame_begin(tape);
    ms_tensor *hidden = ms_argument(&f, x);
    ms_tensor *query =
        ms_local(&f, project(model, &l->q_proj, norms ? &l->q_norm : NULL, *hidden, model->heads));
    ms_tensor *key = ms_local(
        &f, project(model, &l->k_proj, norms ? &l->k_norm : NULL, *hidden, model->kv_heads));
    ms_tensor *value = ms_local(&f, project(model, &l->v_proj, NULL, *hidden, model->kv_heads));
    ms_tensor cos = ms_unsqueeze(tape, d->cos, 1), sin = ms_unsqueeze(tape, d->sin, 1);
    ms_retain(tape, cos);
    ms_retain(tape, sin);
    ms_tensor turned_query = ms_apply_rotary(model, *query, cos, sin);
    ms_retain(tape, turned_query);
    ms_tensor turned_key = ms_apply_rotary(model, *key, cos, sin);
    ms_retain(tape, turned_key);
    ms_release(tape, cos);
    ms_release(tape, sin);
    ms_assign(&f, query, turned_query);
    ms_assign(&f, key, turned_key);
    ms_release(tape, turned_query);
    ms_release(tape, turned_key);
    ms_tensor *output =
        ms_local(&f, ms_attention_call(model, *query, *key, *value, mask, true, weights));
    ms_retain(tape, *weights);
    ms_dim width = ms_dim_mul(&tape->trace->symbols, model->heads, model->head_dim);
    ms_assign(&f, output, ms_reshape(tape, *output, MS_SHAPE(model->batch, model->seq, width)));
    ms_assign(&f, output, ms_linear_call(model, &l->o_proj, *output));
    ms_tensor result = ms_frame_end(&f, output);
    ms_unown(tape, *weights);
    tape->scope = previous;
    return result;
}

static ms_tensor mlp(ms_tape *tape, void *context, uint64_t number, ms_tensor x)
{
    ms_model *model = context;
    const decoder *d = model->modules;
    const layer *l = &d->layers[number];
    uint32_t previous = ms_scope_enter(tape, l->mlp_scope);
    ms_frame f = ms_frame_begin(tape);
    ms_tensor *input = ms_argument(&f, x);
    ms_tensor gate = ms_activation_call(model, ms_linear_call(model, &l->gate_proj, *input));
    ms_tensor product = ms_mul(tape, gate, ms_linear_call(model, &l->up_proj, *input));
    ms_tensor *down = ms_local(&f, ms_linear_call(model, &l->down_proj, product));
    ms_tensor result = ms_frame_end(&f, down);
    tape->scope = previous;
    return result;
}

static ms_tensor run_layer(ms_tape *tape, void *context, uint64_t number, ms_tensor input)
{
    ms_model *model = context;
    decoder *d = model->modules;
    layer *l = &d->layers[number];
    uint32_t previous = ms_scope_enter(tape, l->scope);
    ms_frame f = ms_frame_begin(tape);
    ms_tensor *hidden = ms_argument(&f, input);
    ms_tensor *residual = ms_local(&f, *hidden);
    ms_assign(&f, hidden, ms_rms_norm_call(model, &l->input_norm, *hidden));
    ms_tensor weights;
    ms_assign(&f, hidden, attention(model, d, number, *hidden, &weights));
    ms_local(&f, weights);
    ms_assign(&f, hidden, ms_add(tape, *residual, *hidden));
    ms_assign(&f, residual, *hidden);
    ms_assign(&f, hidden, ms_rms_norm_call(model, &l->post_attention_norm, *hidden));
    const ms_region mlp_region = {.run = mlp, .context = model, .number = number};
    ms_assign(&f, hidden, ms_mlp_call(model, &mlp_region, *hidden));
    ms_assign(&f, hidden, ms_add(tape, *residual, *hidden));
    ms_tensor result = ms_frame_end(&f, hidden);
    tape->scope = previous;
    return result;
}

static ms_tensor call_layer(ms_model *model, uint32_t number, ms_tensor hidden,
                            ms_tensor position_ids)
{
    const decoder *d = model->modules;
    ms_region region = {.run = run_layer,
                        .context = model,
                        .number = number,
                        .held = {mask_of(model, d, number), d->sin, d->cos, position_ids}};
    if (d->style.position_ids_first) {
        region.held[1] = position_ids;
        region.held[2] = d->sin;
        region.held[3] = d->cos;
    }
    return ms_layer_call(model, &region, hidden);
}

/* One mask, or with layers of both kinds one of each. */
static void make_masks(ms_model *model, decoder *d, ms_frame *f, ms_tensor position_ids)
{
    bool any_full = ms_model_has_layers_but(model->config, MS_LAYER_SLIDES);
    bool any_sliding = ms_model_has_layers(model->config, MS_LAYER_SLIDES);
    d->full_mask = d->sliding_mask = 0;
    if (any_full || d->style.mask_arguments)
        d->full_mask = *ms_local(f, ms_causal_mask(model, position_ids, false));
    if (any_sliding)
        d->sliding_mask = *ms_local(f, ms_causal_mask(model, position_ids, true));
}

static ms_tensor run_model(ms_model *model, decoder *d, ms_tensor ids)
{
    ms_tape *tape = model->tape;
    uint32_t previous = ms_scope_enter(tape, d->scope);
    ms_frame f = ms_frame_begin(tape);
    ms_tensor *position_ids = ms_local(&f, 0);
    ms_scope_enter(tape, d->embedding_scope);
    ms_tensor *embeds = ms_local(&f, ms_embedding(tape, d->embedding, ids));
    ms_scope_enter(tape, d->scope);
    ms_assign(&f, position_ids, ms_position_ids(model));
    make_masks(model, d, &f, *position_ids);
    if (d->style.mask_arguments) {
        ms_local(&f, *embeds);
        ms_local(&f, *position_ids);
    }
    ms_tensor *hidden = ms_local(&f, *embeds);
    ms_tensor rotary[2] = {0};
    ms_dtype dtype = (ms_dtype)ms_info(tape, *hidden)->dtype;
    ms_rotary_call(model, d->rotary_scope, d->inv_freq[0], *position_ids, dtype, rotary);
    d->cos = *ms_local(&f, rotary[0]);
    d->sin = *ms_local(&f, rotary[1]);
    for (uint32_t i = 0; i < model->config->num_layers && tape->status == MS_OK; i++)
        ms_assign(&f, hidden, call_layer(model, i, *hidden, *position_ids));
    ms_assign(&f, hidden, ms_rms_norm_call(model, &d->norm, *hidden));
    ms_tensor result = ms_frame_end(&f, hidden);
    tape->scope = previous;
    return result;
}

ms_tensor ms_decoder_forward(ms_model *model, ms_tensor ids, ms_tensor labels)
{
    ms_tape *tape = model->tape;
    decoder *d = model->modules;
    ms_frame f = ms_frame_begin(tape);
    ms_tensor *hidden = ms_local(&f, run_model(model, d, ids));
    ms_tensor *loss = ms_head_loss(model, &f, &d->head, *hidden, labels);
    return ms_frame_end(&f, loss);
}
