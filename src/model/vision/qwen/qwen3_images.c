/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/vision/qwen/qwen3_images.h"

#include "model/vision/image_tokens.h"
#include "model/vision/qwen/patches.h"
#include "model/vision/qwen/qwen3_tower.h"
#include "torch/ops/moe/rows.h"
#include "torch/ops/ops.h"

/* Of the running pass, kept in model->projector: the features of inner blocks, split by image and
 * joined, and the mask of image tokens. */
typedef struct deep_features {
    uint32_t count;
    ms_tensor *made, *joined; /* retained */
    ms_tensor mask;
} deep_features;

static deep_features *features_of(ms_model *model)
{
    deep_features *deep = model->projector;
    uint32_t count = ms_qwen_deep_count(&model->config->vision);
    if (deep)
        return deep;
    deep = ms_arena_array(model->arena, deep_features, 1);
    ms_tensor *made = ms_arena_array(model->arena, ms_tensor, count + 1);
    ms_tensor *joined = ms_arena_array(model->arena, ms_tensor, count + 1);
    if (!deep || !made || !joined) {
        ms_tape_fail(model->tape, MS_ERR_NOMEM);
        return NULL;
    }
    *deep = (deep_features){.count = count, .made = made, .joined = joined};
    model->projector = deep;
    return deep;
}

static void drop(ms_tape *tape, uint32_t count, ms_tensor *list)
{
    for (uint32_t i = 0; i < count; i++) {
        ms_release(tape, list[i]);
        list[i] = 0;
    }
}

/* The locals of forward, in the order in which its frame drops them. */
typedef struct forward_locals {
    ms_tensor *position_ids, *embeds, *last, *merged, *image_mask, *features, *video_mask;
} forward_locals;

static forward_locals locals_of(ms_locals *f)
{
    forward_locals l = {.position_ids = ms_local(f, 0), .embeds = ms_local(f, 0)};
    l.last = ms_local(f, 0);
    l.merged = ms_local(f, 0);
    l.image_mask = ms_local(f, 0);
    l.features = ms_local(f, 0);
    l.video_mask = ms_local(f, 0);
    return l;
}

static void find_features(ms_model *model, ms_locals *f, const forward_locals *l,
                          deep_features *deep)
{
    ms_tape *tape = model->tape;
    if (ms_idle(tape) || !deep)
        return;
    ms_tensor pixels = ms_to(tape, model->pixel_values, model->run->dtype);
    ms_retain(tape, pixels);
    const ms_qwen_vision_result seen = ms_qwen_vision_run(model, pixels, deep->made);
    ms_assign(f, l->merged, seen.merged);
    ms_assign(f, l->last, seen.last);
    ms_release(tape, pixels);
    ms_tensor all = ms_join_images(model, *l->merged);
    if (all && !ms_idle(tape))
        ms_assign(f, l->features, ms_to(tape, all, (ms_dtype)ms_info(tape, *l->embeds)->dtype));
}

/* The mask without its last dimension, and the deep features joined. */
static void prepare_deep(ms_model *model, ms_locals *f, const forward_locals *l,
                         deep_features *deep)
{
    ms_tape *tape = model->tape;
    if (!deep || ms_idle(tape))
        return;
    ms_assign(f, l->image_mask, ms_view(tape, *l->image_mask, MS_SHAPE(model->batch, model->seq)));
    deep->mask = *l->image_mask;
    for (uint32_t i = 0; i < deep->count && !ms_idle(tape); i++) {
        deep->joined[i] = ms_join_images(model, deep->made[i]);
        ms_retain(tape, deep->joined[i]);
    }
}

/* _deepstack_process: the features are added to the image tokens of a copy. */
static ms_tensor add_deep(ms_model *model, uint32_t number, ms_tensor hidden)
{
    ms_tape *tape = model->tape;
    const deep_features *deep = model->projector;
    if (!deep || number >= deep->count || ms_idle(tape) || !hidden)
        return hidden;
    ms_locals f = ms_locals_begin(tape);
    ms_dtype dtype = (ms_dtype)ms_info(tape, hidden)->dtype;
    ms_tensor *states = ms_argument(&f, hidden);
    ms_tensor *features = ms_local(&f, ms_to(tape, deep->joined[number], dtype));
    ms_assign(&f, states, ms_clone(tape, *states));
    if (ms_idle(tape))
        return ms_locals_end(&f, states);
    ms_dim count = ms_info(tape, *features)->shape.dims[0];
    ms_tensor picked = ms_index_mask(tape, *states, deep->mask, count);
    ms_tensor *changed = ms_local(&f, ms_add(tape, picked, *features));
    ms_assign(&f, states, ms_put_mask(tape, *states, deep->mask, *changed));
    return ms_locals_end(&f, states);
}

static ms_tensor run_with_images(ms_model *model, ms_decoder *d, ms_tensor ids)
{
    ms_tape *tape = model->tape;
    deep_features *deep = features_of(model);
    uint32_t root = tape->trace->scopes.items[d->scope].parent;
    uint32_t previous = ms_scope_enter(tape, root);
    ms_locals f = ms_locals_begin(tape);
    const forward_locals l = locals_of(&f);
    ms_assign(&f, l.embeds, ms_decoder_embed(model, d, ids));
    find_features(model, &f, &l, deep);
    ms_image_video_masks(model, &f, ids, l.image_mask, l.video_mask);
    ms_assign(&f, l.embeds, ms_masked_scatter(tape, *l.embeds, *l.image_mask, *l.features));
    prepare_deep(model, &f, &l, deep);
    ms_assign(&f, l.position_ids, ms_qwen_positions(model));
    ms_tensor outer = model->position_ids;
    model->position_ids = *l.position_ids;
    ms_tensor *hidden = ms_local(&f, ms_decoder_run(model, d, *l.embeds));
    model->position_ids = outer;
    ms_assign(&f, l.position_ids, 0);
    ms_assign(&f, l.embeds, 0);
    ms_assign(&f, l.last, 0);
    ms_assign(&f, l.merged, 0);
    ms_assign(&f, l.features, 0);
    if (deep)
        drop(tape, deep->count, deep->made);
    ms_assign(&f, l.image_mask, 0);
    ms_assign(&f, l.video_mask, 0);
    if (deep)
        drop(tape, deep->count, deep->joined);
    ms_tensor result = ms_locals_end(&f, hidden);
    tape->scope = previous;
    return result;
}

void ms_qwen3_see_images(const ms_model *model, ms_decoder_style *style)
{
    if (!model->run->images.count)
        return;
    style->run_with_images = run_with_images;
    style->after_layer = add_deep;
    /* with positions of three grids there are none of the text */
    style->masks_without_positions = true;
    style->layers_without_positions = true;
}
