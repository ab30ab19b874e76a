/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/dense/gemma3n/run.h"

#include <stdio.h>

#include "input/config/model/layer_kinds.h"
#include "input/config/model/model_config.h"
#include "model/blocks/tensor_parallel.h"
#include "model/decoder/decoder_tables.h"
#include "model/dense/gemma4/attention.h"
#include "torch/ops/ops.h"
#include "torch/ops/split.h"

/* ---- modules ---- */

/* A list of projections, one for each stream but the first. */
static void projections_new(ms_model *model, ms_decoder *d, const char *name,
                            ms_linear_module *projections)
{
    uint32_t list = ms_scope_add(model->tape, d->scope, name, MS_NONE);
    for (uint32_t i = 0; i + 1 < model->config->altup_streams; i++) {
        char number[16];
        snprintf(number, sizeof number, "%u", i);
        projections[i] = ms_linear_new(model, list, number, model->hidden, model->hidden, false);
    }
}

bool ms_gemma3n_more_new(ms_model *model, ms_decoder *d)
{
    ms_gemma3n *g = d->own;
    ms_tape *tape = model->tape;
    ms_dtype dtype = model->run->dtype;
    ms_dim rows = ms_dim_name(&tape->trace->symbols, "Vl", model->config->layer_input_rows);
    g->table = ms_embedding_new(model, d->scope, "embed_tokens_per_layer", rows, g->joined);
    g->table_scope = tape->trace->scopes.count - 1;
    uint32_t previous = ms_scope_enter(tape, g->table_scope);
    g->table_scale = ms_buffer_new(model, (ms_shape){0}, dtype, "embed_scale");
    tape->scope = d->scope;
    g->projection = ms_linear_new(model, d->scope, "per_layer_model_projection", model->hidden,
                                  g->joined, false);
    g->projection_norm = ms_norm_new(model, d->scope, "per_layer_projection_norm", g->width, false);
    projections_new(model, d, "altup_projections", g->into);
    projections_new(model, d, "altup_unembed_projections", g->from);
    g->projection_scale = ms_buffer_new(model, (ms_shape){0}, dtype, "per_layer_projection_scale");
    g->input_scale = ms_buffer_new(model, (ms_shape){0}, dtype, "per_layer_input_scale");
    tape->scope = previous;
    return true;
}

/* ---- embeddings for each layer ---- */

/* [B, S, L * P] to [B, S, L, P] */
static ms_tensor by_layer(ms_model *model, ms_tensor joined)
{
    const ms_gemma3n *g = ms_gemma3n_of(model);
    return ms_reshape(model->tape, joined, MS_SHAPE(model->batch, model->seq, g->layers, g->width));
}

/* scale.to(x.dtype): a copy where the weights are cast and the buffer is not */
static ms_tensor in_type_of(ms_tape *tape, ms_tensor scale, ms_tensor x)
{
    return ms_idle(tape) || !x ? 0 : ms_to(tape, scale, (ms_dtype)ms_info(tape, x)->dtype);
}

/* The table's rows, of row 0 for ids that it does not have. */
static ms_tensor look_up(ms_model *model, ms_tensor ids)
{
    ms_tape *tape = model->tape;
    const ms_gemma3n *g = ms_gemma3n_of(model);
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *known = ms_local(&f, 0), *rows = ms_local(&f, 0);
    ms_tensor above = ms_compare(tape, ids, 0), below = ms_compare(tape, ids, 0);
    ms_assign(&f, known, ms_compare(tape, above, below));
    ms_tensor zero = ms_empty(tape, (ms_shape){0}, MS_DTYPE_I64);
    ms_assign(&f, rows, ms_elementwise_out(tape, 1, &ids, MS_DTYPE_I64));
    ms_consume(tape, zero);
    uint32_t previous = ms_scope_enter(tape, g->table_scope);
    ms_tensor found = ms_table_call(model, g->table, *rows);
    ms_tensor scaled = ms_mul(tape, found, in_type_of(tape, g->table_scale, found));
    tape->scope = previous;
    ms_tensor *out = ms_local(&f, by_layer(model, scaled));
    return ms_locals_end(&f, out);
}

/* (norm(projection(embeds) * c) + inputs) * d */
static ms_tensor project(ms_model *model, ms_tensor embeds, ms_tensor inputs)
{
    ms_tape *tape = model->tape;
    const ms_gemma3n *g = ms_gemma3n_of(model);
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *from_tokens = ms_argument(&f, inputs);
    ms_tensor *projected = ms_local(&f, ms_linear_call(model, &g->projection, embeds));
    ms_tensor scale = in_type_of(tape, g->projection_scale, embeds);
    ms_assign(&f, projected, ms_mul_(tape, *projected, scale));
    ms_assign(&f, projected, by_layer(model, *projected));
    ms_assign(&f, projected, ms_gemma4_norm(model, &g->projection_norm, *projected));
    ms_tensor sum = ms_add(tape, *projected, *from_tokens);
    ms_tensor *out = ms_local(&f, ms_mul(tape, sum, in_type_of(tape, g->input_scale, embeds)));
    return ms_locals_end(&f, out);
}

/* ---- streams ---- */

/* Locals of a pass: the list of streams, and what its loops bind. */
typedef struct streams {
    ms_tensor *target, *items[MS_GEMMA3N_MOST_STREAMS], *current, *magnitude;
    uint32_t count;
    ms_dtype dtype; /* of the hidden states */
} streams;

/* mean(x ** 2, -1, keepdim=True); consumes x */
static ms_tensor mean_square(ms_tape *tape, ms_tensor x)
{
    return ms_mean_last(tape, ms_pow(tape, x));
}

/* temp_hidden_states = [first]: the list before is dropped from its end. */
static void begin_list(ms_locals *f, streams *s, ms_tensor first)
{
    for (uint32_t i = s->count; i-- > 0;)
        ms_assign(f, s->items[i], i == 0 ? first : 0);
}

/* A projected stream, with the first one's magnitude, is the list's next item. */
static void add_stream(ms_model *model, ms_locals *f, streams *s, uint32_t number,
                       ms_tensor *projected)
{
    ms_tape *tape = model->tape;
    if (ms_idle(tape))
        return;
    ms_assign(f, s->current, ms_to(tape, *projected, s->dtype));
    ms_assign(f, s->magnitude, mean_square(tape, *s->current));
    ms_assign(f, s->magnitude, ms_sqrt(tape, ms_clamp(tape, *s->magnitude, 1)));
    ms_tensor scaled = ms_mul(tape, *s->current, *s->target);
    ms_assign(f, s->current, ms_div(tape, scaled, *s->magnitude));
    ms_assign(f, s->items[number], *s->current);
}

/* The stack of all items: [N, B, S, H]. */
static ms_tensor stacked(ms_tape *tape, const streams *s)
{
    ms_tensor items[MS_GEMMA3N_MOST_STREAMS] = {0};
    for (uint32_t i = 0; i < s->count; i++)
        items[i] = *s->items[i];
    return ms_stack_list(tape, items, s->count, 0);
}

static void spread(ms_model *model, ms_locals *f, streams *s, ms_tensor first, ms_tensor *projected)
{
    ms_tape *tape = model->tape;
    ms_assign(f, s->target, ms_pow(tape, mean_square(tape, first)));
    begin_list(f, s, first);
    for (uint32_t i = 1; i < s->count; i++) {
        ms_assign(f, projected, ms_linear_call(model, &ms_gemma3n_of(model)->into[i - 1], first));
        add_stream(model, f, s, i, projected);
    }
}

/* The mean of all streams: [B, S, H]. */
static void gather(ms_model *model, ms_locals *f, streams *s, ms_tensor *hidden,
                   ms_tensor *projected)
{
    ms_tape *tape = model->tape;
    ms_assign(f, s->target, ms_pow(tape, mean_square(tape, ms_select(tape, *hidden, 0))));
    begin_list(f, s, ms_select(tape, *hidden, 0));
    for (uint32_t i = 1; i < s->count; i++) {
        ms_assign(
            f, projected,
            ms_linear_call(model, &ms_gemma3n_of(model)->from[i - 1], ms_select(tape, *hidden, 0)));
        add_stream(model, f, s, i, projected);
    }
    ms_assign(f, hidden, stacked(tape, s));
    ms_assign(f, hidden, ms_mean_first(tape, *hidden));
}

/* ---- all layers ---- */

static ms_tensor call_layer(ms_model *model, ms_decoder *d, uint32_t number, ms_tensor hidden)
{
    const ms_rotary *rotary = ms_decoder_rotary(model, d, number);
    ms_gemma3n_layer *l = &ms_gemma3n_of(model)->of_layers[number];
    const ms_region region = {
        .run = d->style.run_layer,
        .context = model,
        .number = number,
        .positional = &l->input,
        .shared = &model->shared,
        .held = {d->position_ids, ms_decoder_mask(model, d, number), rotary->sin, rotary->cos}};
    return ms_layer_call(model, &region, hidden);
}

/* What the loop over layers binds, and that over the streams behind it: locals that are cleared
 * when the shared keys are. */
typedef struct behind {
    ms_locals f;
    ms_tensor *mask, *input, *from;
} behind;

static void run_layers(ms_model *model, ms_decoder *d, ms_locals *f, ms_tensor *hidden,
                       behind *late, ms_tensor inputs)
{
    ms_tape *tape = model->tape;
    const ms_gemma3n *g = d->own;
    for (uint32_t i = 0; i < model->config->num_layers && tape->status == MS_OK; i++) {
        ms_gemma3n_layer *l = &g->of_layers[i];
        ms_assign(&late->f, late->mask, ms_decoder_mask(model, d, i));
        ms_assign(&late->f, late->input, inputs ? ms_select(tape, inputs, 2) : 0);
        l->input = *late->input;
        ms_assign(f, hidden, call_layer(model, d, i, *hidden));
        l->input = 0;
    }
}

static void begin_streams(ms_model *model, ms_locals *f, streams *s, ms_tensor embeds)
{
    ms_tape *tape = model->tape;
    s->count = (uint32_t)model->config->altup_streams;
    s->dtype = ms_idle(tape) ? MS_DTYPE_F32 : (ms_dtype)ms_info(tape, embeds)->dtype;
    s->target = ms_local(f, 0);
    for (uint32_t i = s->count; i-- > 0;)
        s->items[i] = ms_local(f, 0);
}

ms_tensor ms_gemma3n_run(ms_model *model, ms_decoder *d, ms_tensor ids, ms_tensor given)
{
    ms_tape *tape = model->tape;
    uint32_t previous = ms_scope_enter(tape, d->scope);
    ms_locals f = ms_locals_begin(tape);
    streams s = {0};
    behind late = {.f = ms_locals_begin(tape)};
    late.mask = ms_local(&late.f, 0);
    late.input = ms_local(&late.f, 0);
    late.from = ms_local(&late.f, 0);
    ms_tensor *inputs = ms_local(&f, 0), *position_ids = ms_local(&f, 0);
    ms_tensor *embeds = ms_local(&f, given ? given : ms_decoder_embed(model, d, ids));
    ms_assign(&f, inputs, look_up(model, ids));
    ms_assign(&f, inputs, project(model, *embeds, *inputs));
    ms_assign(&f, position_ids, ms_position_ids(model));
    d->position_ids = *position_ids;
    ms_decoder_make_masks(model, d, &f, *position_ids);
    ms_local(&f, *position_ids); /* among the masks' arguments */
    begin_streams(model, &f, &s, *embeds);
    ms_tensor *into = ms_local(&f, 0);
    s.current = ms_local(&f, 0);
    s.magnitude = ms_local(&f, 0);
    ms_tensor *hidden = ms_local(&f, 0);
    spread(model, &f, &s, *embeds, into);
    ms_assign(&f, hidden, ms_idle(tape) ? 0 : stacked(tape, &s));
    if (!ms_idle(tape))
        ms_decoder_make_rotary(model, d, &f, *hidden, *position_ids);
    ms_gemma4_begin_sharing(model);
    run_layers(model, d, &f, hidden, &late, *inputs);
    if (!ms_idle(tape))
        gather(model, &f, &s, hidden, late.from);
    ms_assign(&f, hidden, d->style.norm(model, &d->norm, *hidden));
    ms_tensor result = ms_locals_end(&f, hidden);
    ms_retain(tape, result);
    ms_shared_release(tape, &model->shared);
    ms_locals_end(&late.f, NULL);
    tape->scope = previous;
    return ms_unown(tape, result);
}
