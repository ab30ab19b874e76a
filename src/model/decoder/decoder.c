/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/decoder/decoder.h"

#include <stdio.h>
#include <string.h>

#include "input/config/model/layer_kinds.h"
#include "input/config/model/model_config.h"
#include "model/blocks/attention/masks.h"
#include "model/decoder/decoder_layer.h"
#include "model/decoder/decoder_mlp.h"
#include "model/decoder/decoder_tables.h"
#include "torch/ops/ops.h"

/* ---- construction ---- */

static const ms_norm_row pre_norms[] = {{"input_layernorm", MS_NORM_BEFORE_ATTENTION},
                                        {"post_attention_layernorm", MS_NORM_BEFORE_MLP}};

static void build_rotary(ms_model *model, ms_decoder *d);
static ms_tensor run_model(ms_model *model, ms_decoder *d, ms_tensor ids, ms_tensor given);

static ms_decoder_style with_defaults(ms_decoder_style style)
{
    if (!style.norms[0].name)
        memcpy(style.norms, pre_norms, sizeof pre_norms);
    if (!style.run_layer)
        style.run_layer = ms_residual_layer;
    if (!style.build_attention)
        style.build_attention = ms_self_attention_new;
    if (!style.attention)
        style.attention = ms_self_attention;
    if (!style.rotary_tables)
        style.rotary_tables = ms_rotary_call;
    if (!style.rotary)
        style.rotary = ms_rotary_whole;
    if (!style.build_mlp)
        style.build_mlp = ms_gated_mlp_new;
    if (!style.mlp)
        style.mlp = ms_gated_mlp;
    if (!style.build_rotary)
        style.build_rotary = build_rotary;
    if (!style.run)
        style.run = run_model;
    if (!style.norm)
        style.norm = ms_rms_norm_call;
    if (!style.root_name)
        style.root_name = "model";
    if (!style.text_name)
        style.text_name = "language_model";
    return style;
}

static void build_norms(ms_model *model, const ms_decoder *d, ms_decoder_layer *l)
{
    for (int i = 0; i < MS_NORM_PLACE_COUNT && d->style.norms[i].name; i++)
        l->norms[d->style.norms[i].place] =
            ms_norm_new(model, l->scope, d->style.norms[i].name, model->hidden, false);
}

static bool build_layer(ms_model *model, ms_decoder *d, uint32_t layers_scope, uint32_t number)
{
    char name[16];
    snprintf(name, sizeof name, "%u", number);
    ms_decoder_layer *l = &d->layers[number];
    l->number = number;
    l->scope = ms_scope_add(model->tape, layers_scope, name, number);
    l->attention = d->style.build_attention(model, d, l->scope, number);
    l->mlp = d->style.build_mlp(model, d, l->scope, number);
    build_norms(model, d, l);
    if (d->style.build_more_of_layer && !d->style.build_more_of_layer(model, d, l))
        return false;
    return l->attention && l->mlp;
}

static ms_tensor embedding_scale(ms_model *model, const ms_decoder *d)
{
    uint32_t previous = ms_scope_enter(model->tape, d->embedding_scope);
    ms_tensor scale = ms_buffer_new(model, (ms_shape){0}, model->run->dtype, "embed_scale");
    model->tape->scope = previous;
    return scale;
}

/* The places in d->rotary of the tables there are, in the framework's order. */
static uint32_t rotary_places(const ms_model *model, const ms_decoder *d, uint32_t places[2])
{
    uint32_t count = 0;
    if (!d->style.rotary_by_kind || ms_model_has_layers_but(model->config, MS_LAYER_SLIDES))
        places[count++] = 0;
    if (d->style.rotary_by_kind && ms_model_has_layers(model->config, MS_LAYER_SLIDES))
        places[count++] = 1;
    return count;
}

static void build_rotary(ms_model *model, ms_decoder *d)
{
    uint32_t places[2], count = rotary_places(model, d, places);
    ms_tensor inv_freq[2] = {0}, originals[2] = {0};
    ms_rotary_new(model, d->scope, count, inv_freq, originals);
    for (uint32_t i = 0; i < count; i++) {
        d->rotary[places[i]].inv_freq = inv_freq[i];
        d->rotary[places[i]].original = originals[i];
    }
    d->rotary_scope = model->tape->trace->scopes.count - 1;
}

static bool add_scope(ms_model *model, ms_decoder *d)
{
    uint32_t scope = d->scope = ms_scope_add(model->tape, MS_NONE, "model", MS_NONE);
    if (!d->style.build_towers)
        return true;
    if (!d->style.build_towers(model, scope))
        return false;
    d->scope = ms_scope_add(model->tape, scope, "language_model", MS_NONE);
    return true;
}

bool ms_decoder_build(ms_model *model, ms_decoder_style style)
{
    ms_decoder *d = ms_arena_array(model->arena, ms_decoder, 1);
    uint64_t count = model->config->num_layers;
    ms_decoder_layer *layers = ms_arena_array(model->arena, ms_decoder_layer, count);
    if (!d || !layers)
        return false;
    model->modules = d;
    model->softmax_in_fp32 = true;
    d->layers = layers;
    d->style = with_defaults(style);
    d->own = style.own;
    if (!add_scope(model, d))
        return false;
    d->embedding = ms_embedding_new(model, d->scope, "embed_tokens", model->vocab, model->hidden);
    d->embedding_scope = model->tape->trace->scopes.count - 1;
    if (style.scaled_embedding)
        d->embedding_scale = embedding_scale(model, d);
    uint32_t layers_scope = ms_scope_add(model->tape, d->scope, "layers", MS_NONE);
    for (uint32_t i = 0; i < count && model->tape->status == MS_OK; i++)
        if (!build_layer(model, d, layers_scope, i))
            return false;
    d->norm = ms_norm_new(model, d->scope, "norm", model->hidden, false);
    d->norm.place = MS_LIGER_NORM_LAST;
    d->style.build_rotary(model, d);
    if (d->style.build_more && !d->style.build_more(model, d))
        return false;
    d->head = ms_head_new(model, d->embedding);
    return true;
}

/* ---- forward ---- */

ms_tensor ms_decoder_call_layer(ms_model *model, uint32_t number, ms_tensor hidden,
                                ms_tensor position_ids, bool position_ids_first)
{
    const ms_decoder *d = model->modules;
    ms_tensor mask = ms_decoder_mask(model, d, number);
    const ms_rotary *rotary = ms_decoder_rotary(model, d, number);
    ms_region region = {.run = d->style.run_layer,
                        .context = model,
                        .number = number,
                        .held = {mask, rotary->sin, rotary->cos}};
    if (!d->style.layers_without_positions)
        region.held[3] = position_ids;
    if (position_ids_first) {
        region.held[1] = position_ids;
        region.held[2] = rotary->sin;
        region.held[3] = rotary->cos;
    }
    return ms_layer_call(model, &region, hidden);
}

/* One mask, or with layers of both kinds one of each. */
void ms_decoder_make_masks(ms_model *model, ms_decoder *d, ms_locals *f, ms_tensor position_ids)
{
    bool any_full = ms_model_has_layers_but(model->config, MS_LAYER_SLIDES);
    bool any_sliding = ms_model_has_layers(model->config, MS_LAYER_SLIDES);
    d->full_mask = d->sliding_mask = 0;
    if (d->style.masks_without_positions)
        position_ids = 0;
    if (any_full || d->style.mask_arguments)
        d->full_mask = *ms_local(f, ms_causal_mask(model, position_ids, false));
    if (any_sliding || d->style.both_masks)
        d->sliding_mask = *ms_local(f, ms_causal_mask(model, position_ids, true));
}

void ms_decoder_make_rotary(ms_model *model, ms_decoder *d, ms_locals *f, ms_tensor hidden,
                            ms_tensor position_ids)
{
    ms_dtype dtype =
        d->style.fp32_rotary ? MS_DTYPE_F32 : (ms_dtype)ms_info(model->tape, hidden)->dtype;
    uint32_t places[2], count = rotary_places(model, d, places);
    for (uint32_t i = 0; i < count; i++) {
        ms_rotary *r = &d->rotary[places[i]];
        ms_tensor tables[2] = {0};
        model->tape->calls_again += i > 0;
        if (model->config->long_rotary)
            ms_rotary_choose(model, d->rotary_scope, r->original, &d->long_inv_freq);
        d->style.rotary_tables(model, d->rotary_scope, r->inv_freq, position_ids, dtype, tables);
        r->sin = *ms_local(f, tables[1]); /* a tuple drops its last item first */
        r->cos = *ms_local(f, tables[0]);
    }
}

ms_tensor ms_decoder_embed(ms_model *model, const ms_decoder *d, ms_tensor ids)
{
    return ms_input_embedding(model, d->embedding_scope, d->embedding, d->embedding_scale, ids);
}

ms_tensor *ms_decoder_layers(ms_model *model, ms_decoder *d, ms_locals *f, ms_tensor embeds,
                             ms_tensor position_ids)
{
    ms_tape *tape = model->tape;
    ms_tensor *hidden = ms_local(f, embeds);
    d->position_ids = position_ids;
    ms_decoder_make_rotary(model, d, f, *hidden, position_ids);
    ms_tensor *outputs = d->style.after_layer ? ms_local(f, 0) : NULL;
    for (uint32_t i = 0; i < model->config->num_layers && tape->status == MS_OK; i++) {
        ms_assign(f, hidden, ms_decoder_call_layer(model, i, *hidden, position_ids, false));
        if (outputs) {
            ms_assign(f, outputs, *hidden);
            ms_assign(f, hidden, d->style.after_layer(model, i, *hidden));
        }
    }
    ms_assign(f, hidden, d->style.norm(model, &d->norm, *hidden));
    return hidden;
}

/* The model, of ids, or of their embeddings, which are then the caller's. */
static ms_tensor run_model(ms_model *model, ms_decoder *d, ms_tensor ids, ms_tensor given)
{
    ms_tape *tape = model->tape;
    uint32_t previous = ms_scope_enter(tape, d->scope);
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *position_ids = ms_local(&f, 0);
    ms_tensor *embeds = ms_local(&f, given ? given : ms_decoder_embed(model, d, ids));
    ms_assign(&f, position_ids, ms_position_ids(model));
    ms_decoder_make_masks(model, d, &f, *position_ids);
    if (d->style.mask_arguments) {
        ms_local(&f, *embeds);
        ms_local(&f, d->style.masks_without_positions ? 0 : *position_ids);
    }
    ms_tensor *hidden = ms_decoder_layers(model, d, &f, *embeds, *position_ids);
    ms_tensor result = ms_locals_end(&f, hidden);
    tape->scope = previous;
    return result;
}

ms_tensor ms_decoder_run(ms_model *model, ms_decoder *d, ms_tensor embeds)
{
    return d->style.run(model, d, 0, embeds);
}

void ms_decoder_forward(ms_model *model, const ms_model_inputs *in, ms_model_outputs *out)
{
    ms_tape *tape = model->tape;
    ms_decoder *d = model->modules;
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *hidden =
        ms_local(&f, model->run->images.count ? d->style.run_with_images(model, d, in->ids)
                                              : d->style.run(model, d, in->ids, 0));
    ms_tensor *more = ms_local(&f, 0);
    ms_tensor *loss = ms_head_call(model, &f, &d->head, *hidden, in, out);
    if (d->style.add_loss)
        d->style.add_loss(model, &f, more, loss);
    if (!in->labels)
        out->auxiliary = ms_hand_out(tape, *more);
    ms_forward_end(&f, loss, out);
    if (d->style.drop)
        d->style.drop(model);
}
