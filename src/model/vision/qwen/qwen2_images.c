/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/vision/qwen/qwen2_images.h"

#include "model/vision/image_tokens.h"
#include "model/vision/qwen/qwen2_tower.h"
#include "model/vision/qwen/patches.h"
#include "torch/ops/ops.h"

/* The locals of forward, in the order in which its frame drops them. */
typedef struct forward_locals {
    ms_tensor *position_ids, *embeds;
    ms_tensor *last, *merged; /* of the tower's output */
    ms_tensor *features, *image_mask, *video_mask;
} forward_locals;

static forward_locals locals_of(ms_locals *f)
{
    forward_locals l = {.position_ids = ms_local(f, 0), .embeds = ms_local(f, 0)};
    l.last = ms_local(f, 0);
    l.merged = ms_local(f, 0);
    l.features = ms_local(f, 0);
    l.image_mask = ms_local(f, 0);
    l.video_mask = ms_local(f, 0);
    return l;
}

/* get_image_features: the features of each image, joined, in the type of the embeddings. */
static void find_features(ms_model *model, ms_locals *f, const forward_locals *l)
{
    ms_tape *tape = model->tape;
    if (ms_idle(tape))
        return;
    ms_tensor pixels = ms_to(tape, model->pixel_values, model->run->dtype), last = 0;
    ms_retain(tape, pixels);
    ms_tensor merged = ms_qwen2_tower_run(model, pixels, &last);
    ms_assign(f, l->merged, merged);
    ms_assign(f, l->last, last);
    ms_release(tape, pixels);
    ms_tensor joined = ms_join_images(model, *l->merged);
    if (joined)
        ms_assign(f, l->features, ms_to(tape, joined, (ms_dtype)ms_info(tape, *l->embeds)->dtype));
}

ms_tensor ms_qwen2_run_with_images(ms_model *model, ms_decoder *d, ms_tensor ids)
{
    ms_tape *tape = model->tape;
    uint32_t root = tape->trace->scopes.items[d->scope].parent;
    uint32_t previous = ms_scope_enter(tape, root);
    ms_locals f = ms_locals_begin(tape);
    const forward_locals l = locals_of(&f);
    ms_assign(&f, l.embeds, ms_decoder_embed(model, d, ids));
    find_features(model, &f, &l);
    ms_image_video_masks(model, &f, ids, l.image_mask, l.video_mask);
    ms_assign(&f, l.embeds, ms_masked_scatter(tape, *l.embeds, *l.image_mask, *l.features));
    ms_assign(&f, l.position_ids, ms_qwen_positions(model));
    ms_tensor outer = model->position_ids;
    model->position_ids = *l.position_ids;
    ms_tensor *hidden = ms_local(&f, ms_decoder_run(model, d, *l.embeds));
    model->position_ids = outer;
    ms_tensor result = ms_locals_end(&f, hidden);
    tape->scope = previous;
    return result;
}
