/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Gemma 4's layers, the embeddings that they add, and the pass over them.
 */
#include "model/dense/gemma4/layer.h"

#include "input/config/model/layer_kinds.h"
#include "input/config/model/model_config.h"
#include "model/blocks/tensor_parallel.h"
#include "model/decoder/decoder_layer.h"
#include "model/decoder/decoder_tables.h"
#include "model/dense/gemma4/attention.h"
#include "model/dense/gemma4/experts.h"
#include "torch/ops/ops.h"

/* ---- a layer ---- */

bool ms_gemma4_layer_new(ms_model *model, ms_decoder *d, ms_decoder_layer *layer)
{
    ms_gemma4 *g = d->own;
    ms_gemma4_layer *l = &g->of_layers[layer->number];
    ms_tape *tape = model->tape;
    uint32_t previous = ms_scope_enter(tape, layer->scope);
    l->scalar = ms_buffer_new(model, MS_SHAPE(ms_dim_number(&tape->trace->symbols, 1)),
                              model->run->dtype, "layer_scalar");
    tape->scope = previous;
    if (g->width.value) {
        l->input_gate = ms_linear_new(model, layer->scope, "per_layer_input_gate", model->hidden,
                                      g->width, false);
        l->projection = ms_linear_new(model, layer->scope, "per_layer_projection", g->width,
                                      model->hidden, false);
        l->input_norm =
            ms_norm_new(model, layer->scope, "post_per_layer_input_norm", model->hidden, false);
    }
    if (model->config->num_experts)
        l->experts = ms_gemma4_experts_new(model, layer->scope);
    return !model->config->num_experts || l->experts;
}

/* hidden = norm(hidden); hidden = residual + hidden */
static void normalise_and_add(ms_model *model, ms_locals *f, const ms_norm_module *module,
                              ms_tensor residual, ms_tensor *hidden)
{
    ms_assign(f, hidden, ms_gemma4_norm(model, module, *hidden));
    ms_assign(f, hidden, ms_add(model->tape, residual, *hidden));
}

static void add_layer_input(ms_model *model, ms_locals *f, const ms_gemma4_layer *l,
                            ms_tensor *residual, ms_tensor *hidden)
{
    ms_assign(f, residual, *hidden);
    ms_assign(f, hidden, ms_linear_call(model, &l->input_gate, *hidden));
    ms_assign(f, hidden, ms_activation_call(model, *hidden));
    ms_assign(f, hidden, ms_mul(model->tape, *hidden, l->input));
    ms_assign(f, hidden, ms_linear_call(model, &l->projection, *hidden));
    normalise_and_add(model, f, &l->input_norm, *residual, hidden);
}

ms_tensor ms_gemma4_layer_run(ms_tape *tape, void *context, uint64_t number, ms_tensor input)
{
    ms_model *model = context;
    const ms_gemma4 *g = ms_gemma4_of(model);
    const ms_gemma4_layer *own = &g->of_layers[number];
    const ms_decoder_layer *l = &((ms_decoder *)model->modules)->layers[number];
    uint32_t previous = ms_scope_enter(tape, l->scope);
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *hidden = ms_argument(&f, input);
    ms_tensor *residual = ms_local(&f, *hidden);
    ms_assign(&f, hidden, ms_norm_at(model, l, MS_NORM_BEFORE_ATTENTION, *hidden));
    ms_assign(&f, hidden, ms_layer_attention(model, l, &f, *hidden));
    ms_tensor *second = &f.slots[f.count - 1];
    normalise_and_add(model, &f, &l->norms[MS_NORM_AFTER_ATTENTION], *residual, hidden);
    ms_assign(&f, residual, *hidden);
    ms_assign(&f, hidden, ms_norm_at(model, l, MS_NORM_BEFORE_MLP, *hidden));
    ms_assign(&f, hidden, ms_layer_mlp(model, l, *hidden));
    if (own->experts)
        ms_gemma4_add_experts(model, &f, own->experts, *residual, second, hidden);
    normalise_and_add(model, &f, &l->norms[MS_NORM_AFTER_MLP], *residual, hidden);
    if (g->width.value)
        add_layer_input(model, &f, own, residual, hidden);
    ms_assign(&f, hidden, ms_mul_(tape, *hidden, own->scalar));
    ms_tensor result = ms_locals_end(&f, hidden);
    tape->scope = previous;
    return result;
}

/* ---- embeddings for each layer ---- */

bool ms_gemma4_inputs_new(ms_model *model, ms_decoder *d)
{
    ms_gemma4 *g = d->own;
    ms_tape *tape = model->tape;
    if (!g->width.value)
        return true;
    ms_dim rows = ms_dim_name(&tape->trace->symbols, "Vl", model->config->layer_input_rows);
    g->table = ms_embedding_new(model, d->scope, "embed_tokens_per_layer", rows, g->joined);
    g->table_scope = tape->trace->scopes.count - 1;
    uint32_t previous = ms_scope_enter(tape, g->table_scope);
    g->table_scale = ms_buffer_new(model, (ms_shape){0}, model->run->dtype, "embed_scale");
    tape->scope = previous;
    g->projection = ms_linear_new(model, d->scope, "per_layer_model_projection", model->hidden,
                                  g->joined, false);
    g->projection_norm = ms_norm_new(model, d->scope, "per_layer_projection_norm", g->width, false);
    return true;
}

/* [B, S, L * P] to [B, S, L, P] */
static ms_tensor by_layer(ms_model *model, ms_tensor joined)
{
    const ms_gemma4 *g = ms_gemma4_of(model);
    return ms_reshape(model->tape, joined, MS_SHAPE(model->batch, model->seq, g->layers, g->width));
}

ms_tensor ms_gemma4_layer_inputs(ms_model *model, ms_tensor ids)
{
    ms_tape *tape = model->tape;
    const ms_gemma4 *g = ms_gemma4_of(model);
    uint32_t previous = ms_scope_enter(tape, g->table_scope);
    ms_tensor rows = ms_table_call(model, g->table, ids);
    ms_tensor scaled = ms_mul(tape, rows, ms_to(tape, g->table_scale, model->run->dtype));
    tape->scope = previous;
    return by_layer(model, scaled);
}

/* (norm(projection(embeds) * c) + inputs) * c */
static ms_tensor project(ms_model *model, ms_tensor embeds, ms_tensor inputs)
{
    ms_tape *tape = model->tape;
    const ms_gemma4 *g = ms_gemma4_of(model);
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *from_tokens = ms_argument(&f, inputs);
    ms_tensor *projected =
        ms_local(&f, ms_mul_scalar(tape, ms_linear_call(model, &g->projection, embeds)));
    ms_assign(&f, projected, by_layer(model, *projected));
    ms_assign(&f, projected, ms_gemma4_norm(model, &g->projection_norm, *projected));
    ms_tensor *out = ms_local(&f, ms_mul_scalar(tape, ms_add(tape, *projected, *from_tokens)));
    return ms_locals_end(&f, out);
}

/* ---- all layers ---- */

/* x[:, 0:, ..]: the layers that share get all tokens, by views of the whole. */
static ms_tensor all_of(ms_tape *tape, ms_tensor x)
{
    if (ms_idle(tape) || !x)
        return x;
    const ms_shape shape = ms_info(tape, x)->shape;
    return ms_slice_last(tape, x, shape.dims[shape.rank - 1]);
}

static ms_tensor call_layer(ms_model *model, ms_decoder *d, uint32_t number, ms_tensor hidden)
{
    const ms_rotary *rotary = ms_decoder_rotary(model, d, number);
    ms_gemma4_layer *l = &ms_gemma4_of(model)->of_layers[number];
    const ms_region region = {
        .run = d->style.run_layer,
        .context = model,
        .number = number,
        .positional = &l->input,
        .shared = &model->shared,
        .held = {rotary->sin, rotary->cos, ms_decoder_mask(model, d, number), d->position_ids}};
    return ms_layer_call(model, &region, hidden);
}

static void run_layers(ms_model *model, ms_decoder *d, ms_locals *f, ms_tensor *hidden,
                       ms_tensor *inputs)
{
    ms_tape *tape = model->tape;
    const ms_gemma4 *g = d->own;
    uint64_t count = model->config->num_layers;
    ms_tensor *input = ms_local(f, 0);
    for (uint32_t i = 0; i < count && tape->status == MS_OK; i++) {
        ms_gemma4_layer *l = &g->of_layers[i];
        if (i == count - model->config->sharing_layers) {
            ms_assign(f, hidden, all_of(tape, *hidden));
            ms_assign(f, inputs, all_of(tape, *inputs));
        }
        ms_assign(f, input, *inputs ? ms_select(tape, *inputs, 2) : 0);
        l->input = *input;
        ms_assign(f, hidden, call_layer(model, d, i, *hidden));
        l->input = 0;
    }
}

/* What follows the masks: the last norm's states. */
static ms_tensor run_embedded(ms_model *model, ms_decoder *d, ms_locals *f, ms_tensor embeds,
                              ms_tensor *inputs)
{
    ms_tape *tape = model->tape;
    ms_tensor *hidden = ms_local(f, embeds);
    if (!ms_idle(tape))
        ms_decoder_make_rotary(model, d, f, *hidden, d->position_ids);
    ms_gemma4_begin_sharing(model);
    run_layers(model, d, f, hidden, inputs);
    ms_assign(f, hidden, d->style.norm(model, &d->norm, *hidden));
    ms_shared_release(tape, &model->shared);
    return ms_locals_end(f, hidden);
}

ms_tensor ms_gemma4_run_text(ms_model *model, ms_decoder *d, ms_tensor embeds, ms_tensor from_ids)
{
    ms_tape *tape = model->tape;
    uint32_t previous = ms_scope_enter(tape, d->scope);
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *inputs = ms_local(&f, 0);
    if (ms_gemma4_of(model)->width.value)
        ms_assign(&f, inputs, project(model, embeds, from_ids));
    ms_tensor result = run_embedded(model, d, &f, embeds, inputs);
    tape->scope = previous;
    return result;
}
