/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/dense/gemma4/whole.h"

#include "input/config/model/layer_kinds.h"
#include "input/config/model/model_config.h"
#include "model/blocks/attention/masks.h"
#include "model/blocks/image_masks.h"
#include "model/dense/gemma4/attention.h"
#include "model/dense/gemma4/audio_tower.h"
#include "model/dense/gemma4/layer.h"
#include "model/dense/gemma4/vision_run.h"
#include "model/dense/gemma4/vision_tower.h"
#include "model/blocks/images.h"
#include "torch/ops/moe/rows.h"
#include "torch/ops/ops.h"

/* ---- construction ---- */

bool ms_gemma4_vision_towers_new(ms_model *model, uint32_t scope)
{
    uint32_t first = model->tape->parameters.count;
    if (model->config->vision.hidden_size == 0)
        return true;
    if (!ms_gemma4_vision_new(model, scope))
        return false;
    if (model->run->images.frozen && !model->run->adapter) /* which freezes by itself */
        ms_parameters_freeze(model, first, model->tape->parameters.count);
    return true;
}

/* Gemma4MultimodalEmbedder: a norm without a weight, and a linear layer. */
typedef struct embedder {
    uint32_t scope;
    ms_linear_module projection;
} embedder;

static embedder embedder_new(ms_model *model, uint32_t parent, const char *name, ms_dim width)
{
    embedder e = {.scope = ms_scope_add(model->tape, parent, name, MS_NONE)};
    e.projection =
        ms_linear_new(model, e.scope, "embedding_projection", width, model->hidden, false);
    (void)ms_scope_add(model->tape, e.scope, "embedding_pre_projection_norm", MS_NONE);
    return e;
}

bool ms_gemma4_other_towers_new(ms_model *model, ms_decoder *d)
{
    ms_symbols *s = &model->tape->trace->symbols;
    const ms_model_config *c = model->config;
    uint32_t root = model->tape->trace->scopes.items[d->scope].parent;
    if (!ms_gemma4_inputs_new(model, d))
        return false;
    if (c->audio.hidden_size)
        ms_gemma4_audio_new(model, root);
    if (c->vision.hidden_size) {
        embedder *e = ms_arena_array(model->arena, embedder, 1);
        if (!e)
            return false;
        *e = embedder_new(model, root, "embed_vision", ms_dim_name(s, "Hv", c->vision.hidden_size));
        model->projector = e;
    }
    if (c->audio.hidden_size)
        (void)embedder_new(model, root, "embed_audio", ms_dim_number(s, c->audio.out_size));
    return true;
}

/* ---- forward ---- */

/* The locals of forward, in the order in which its frame drops them. */
typedef struct forward_locals {
    ms_tensor *inputs;                   /* embeddings for each layer */
    ms_tensor *last, *projected;         /* of the tower, and for the text model */
    ms_tensor *images, *videos, *sounds; /* which ids are */
    ms_tensor *other;                    /* which are none of text */
    ms_tensor *ids, *text_embeds;        /* with padding in place of those */
    ms_tensor *features, *count;         /* of images; their number */
    ms_tensor *full, *sliding;           /* masks */
    ms_tensor *embeds, *position_ids, *blocks;
} forward_locals;

static forward_locals locals_of(ms_locals *f)
{
    forward_locals l = {0};
    ms_tensor **members[] = {&l.inputs,      &l.last,     &l.projected,    &l.images,
                             &l.videos,      &l.sounds,   &l.other,        &l.ids,
                             &l.text_embeds, &l.features, &l.count,        &l.full,
                             &l.sliding,     &l.embeds,   &l.position_ids, &l.blocks};
    for (size_t i = 0; i < sizeof members / sizeof *members; i++)
        *members[i] = ms_local(f, 0);
    return l;
}

/* get_placeholder_mask, and the union of what it gives. */
static void find_kinds(ms_model *model, ms_locals *f, const forward_locals *l, ms_tensor ids)
{
    ms_tape *tape = model->tape;
    ms_assign(f, l->images, ms_compare(tape, ids, 0));
    ms_assign(f, l->videos, ms_compare(tape, ids, 0));
    ms_assign(f, l->sounds, ms_compare(tape, ids, 0));
    ms_tensor first = ms_compare(tape, *l->images, *l->videos);
    ms_assign(f, l->other, ms_compare(tape, *l->sounds, first));
}

/* torch.where(other, pad_token_id, ids.clone()) */
static void pad_ids(ms_model *model, ms_locals *f, const forward_locals *l, ms_tensor ids)
{
    ms_tape *tape = model->tape;
    if (ms_idle(tape))
        return;
    const ms_shape shape = ms_info(tape, ids)->shape;
    ms_assign(f, l->ids, ms_empty(tape, shape, MS_DTYPE_I64));
    ms_tensor number = ms_empty_bytes(tape, 8, MS_DTYPE_I64);
    ms_tensor padded = ms_empty(tape, shape, MS_DTYPE_I64);
    ms_consume(tape, number);
    ms_assign(f, l->ids, padded);
}

/* torch.where(other, the padding token's embedding, embeds): nothing reads it. */
static void look_up_inputs(ms_model *model, ms_locals *f, const forward_locals *l)
{
    ms_tape *tape = model->tape;
    if (ms_idle(tape) || !ms_gemma4_of(model)->width.value)
        return;
    const ms_tensor_info *embeds = ms_info(tape, *l->embeds);
    if (ms_needs_grad(tape, *l->embeds))
        ms_save_in_passing(tape, *l->other);
    ms_assign(f, l->text_embeds, ms_empty(tape, embeds->shape, (ms_dtype)embeds->dtype));
    ms_assign(f, l->inputs, ms_gemma4_layer_inputs(model, *l->ids));
}

/* Gemma4MultimodalEmbedder.forward */
static ms_tensor project(ms_model *model, const embedder *e, ms_tensor x)
{
    ms_tape *tape = model->tape;
    uint32_t previous = ms_scope_enter(tape, e->scope);
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *normed = ms_local(&f, ms_gemma4_unit_norm(model, x));
    ms_tensor *out = ms_local(&f, ms_linear_call(model, &e->projection, *normed));
    ms_tensor result = ms_locals_end(&f, out);
    tape->scope = previous;
    return result;
}

/* How many tokens each image has, which is read. */
static void count_tokens(ms_model *model)
{
    ms_tape *tape = model->tape;
    if (ms_idle(tape))
        return;
    const ms_shape places = ms_info(tape, model->image_places)->shape;
    ms_shape patches = MS_SHAPE(places.dims[0], places.dims[1]);
    ms_tensor differ = ms_compare(tape, model->image_places, 0);
    ms_tensor real = ms_empty(tape, patches, MS_DTYPE_BOOL);
    ms_consume(tape, differ);
    ms_tensor sums = ms_empty(tape, MS_SHAPE(places.dims[0]), MS_DTYPE_I64);
    ms_consume(tape, ms_empty(tape, patches, MS_DTYPE_I64));
    ms_consume(tape, ms_floor_divide(tape, sums));
    ms_host_waits(tape);
    ms_consume(tape, real);
}

/* embeds[images].numel(), where the mask is as wide as the embeddings. */
static void count_elements(ms_model *model, ms_tensor embeds)
{
    ms_tape *tape = model->tape;
    if (ms_idle(tape))
        return;
    const ms_shape shape = ms_info(tape, embeds)->shape;
    uint64_t tokens = ms_image_count(model) * model->run->images.grid.tokens;
    ms_dim elements = ms_dim_mul(&tape->trace->symbols,
                                 ms_dim_number(&tape->trace->symbols, tokens), model->hidden);
    ms_tensor wide = tape->on_cpu ? 0 : ms_empty(tape, shape, MS_DTYPE_BOOL);
    ms_tensor found = ms_nonzero(tape, &shape, true, elements);
    ms_consume(tape, wide);
    if (ms_idle(tape))
        return;
    ms_tensor taken = ms_empty(tape, MS_SHAPE(elements), (ms_dtype)ms_info(tape, embeds)->dtype);
    ms_consume(tape, found);
    ms_consume(tape, taken);
}

static void merge_images(ms_model *model, ms_locals *f, const forward_locals *l)
{
    ms_tape *tape = model->tape;
    const ms_dim one = {.value = 1};
    ms_assign(f, l->last, ms_gemma4_vision_run(model));
    ms_assign(f, l->projected, project(model, model->projector, *l->last));
    count_tokens(model);
    ms_assign(f, l->features, ms_join_images(model, *l->projected));
    if (ms_idle(tape))
        return;
    ms_assign(f, l->features,
              ms_to(tape, *l->features, (ms_dtype)ms_info(tape, *l->embeds)->dtype));
    ms_assign(f, l->count, ms_count_mask(tape, *l->images));
    ms_assign(f, l->images, ms_view(tape, *l->images, MS_SHAPE(model->batch, model->seq, one)));
    count_elements(model, *l->embeds);
    ms_assign(f, l->embeds, ms_masked_scatter(tape, *l->embeds, *l->images, *l->features));
}

/* Tokens of an image see each other in layers that slide (create_masks_for_vision_model). */
static void make_image_masks(ms_model *model, ms_locals *f, const forward_locals *l, ms_tensor ids)
{
    ms_assign(f, l->blocks, ms_image_blocks(model, ids, true));
    ms_assign(f, l->full, ms_causal_mask(model, *l->position_ids, false));
    for (int i = 0; i < 2; i++)
        ms_look_for_packed_sequences(model, *l->position_ids);
    ms_assign(f, l->sliding, ms_image_mask(model, true));
}

static void make_masks(ms_model *model, ms_locals *f, const forward_locals *l)
{
    if (ms_model_has_layers_but(model->config, MS_LAYER_SLIDES))
        ms_assign(f, l->full, ms_causal_mask(model, *l->position_ids, false));
    if (ms_model_has_layers(model->config, MS_LAYER_SLIDES))
        ms_assign(f, l->sliding, ms_causal_mask(model, *l->position_ids, true));
}

/* Gemma4Model.forward. *features: of images, which it hands out with its result, retained. */
static ms_tensor run(ms_model *model, ms_decoder *d, ms_tensor ids, ms_tensor *features)
{
    ms_tape *tape = model->tape;
    uint32_t root = tape->trace->scopes.items[d->scope].parent;
    uint32_t previous = ms_scope_enter(tape, root);
    ms_locals f = ms_locals_begin(tape);
    const forward_locals l = locals_of(&f);
    find_kinds(model, &f, &l, ids);
    pad_ids(model, &f, &l, ids);
    ms_assign(&f, l.embeds, ms_decoder_embed(model, d, *l.ids));
    look_up_inputs(model, &f, &l);
    if (model->run->images.count)
        merge_images(model, &f, &l);
    ms_assign(&f, l.position_ids, ms_position_ids(model));
    d->position_ids = *l.position_ids;
    if (model->run->images.count && model->config->sees_ahead)
        make_image_masks(model, &f, &l, ids);
    else
        make_masks(model, &f, &l);
    d->full_mask = *l.full;
    d->sliding_mask = *l.sliding;
    ms_tensor *hidden = ms_local(&f, ms_gemma4_run_text(model, d, *l.embeds, *l.inputs));
    *features = tape->stopped ? 0 : *l.features;
    ms_retain(tape, *features);
    ms_tensor result = ms_locals_end(&f, hidden);
    tape->scope = previous;
    return result;
}

void ms_gemma4_forward_whole(ms_model *model, const ms_model_inputs *in, ms_model_outputs *out)
{
    ms_decoder *d = model->modules;
    ms_tensor features = 0;
    ms_locals f = ms_locals_begin(model->tape);
    ms_tensor *hidden = ms_local(&f, run(model, d, in->ids, &features));
    ms_tensor *loss = ms_head_call(model, &f, &d->head, *hidden, in, out);
    ms_forward_end(&f, loss, out);
    out->auxiliary = features;
}
