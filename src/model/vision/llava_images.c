/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/vision/llava_images.h"

#include <inttypes.h>

#include "input/config/model/model_config.h"
#include "torch/autograd/graph.h"
#include "model/vision/clip.h"
#include "model/vision/image_tokens.h"
#include "model/vision/picture_layers.h"
#include "torch/ops/ops.h"

/* ---- places ---- */

ms_status ms_llava_place_image(const ms_model_config *config, const uint64_t sides[2],
                               ms_image_grid *grid, ms_error *err)
{
    (void)sides;
    const ms_vision_config *vision = &config->vision;
    uint64_t side = ms_picture_side(vision);
    if (vision->hidden_size % vision->num_heads != 0)
        return ms_fail(err, MS_ERR_CONFIG,
                       "the tower's %" PRIu64 " heads do not divide its %" PRIu64 " elements",
                       vision->num_heads, vision->hidden_size);
    if (side == 0)
        return ms_fail(err, MS_ERR_CONFIG,
                       "the tower's patches of %" PRIu64 " pixels are larger than its pictures of "
                       "%" PRIu64,
                       vision->patch_size, vision->image_size);
    if (vision->feature_layer == 0)
        return ms_fail(err, MS_ERR_CONFIG,
                       "transformers takes a vision_feature_layer of 0 for none and stops: count "
                       "from the end");
    *grid = (ms_image_grid){
        .rows = side, .columns = side, .tokens = side * side + (vision->keeps_class ? 1 : 0)};
    return MS_OK;
}

/* ---- construction ---- */

typedef struct projector {
    uint32_t scope;
    ms_linear_module first, second;
} projector;

bool ms_llava_towers_new(ms_model *model, uint32_t scope)
{
    projector *p = ms_arena_array(model->arena, projector, 1);
    const ms_vision_config *vision = &model->config->vision;
    uint32_t start = model->tape->parameters.count;
    if (!p || !ms_clip_new(model, scope))
        return false;
    if (model->run->images.frozen && !model->run->adapter) /* which freezes by itself */
        ms_parameters_freeze(model, start, model->tape->parameters.count);
    ms_dim width = ms_dim_name(&model->tape->trace->symbols, "Hv", vision->hidden_size);
    p->scope = ms_scope_add(model->tape, scope, "multi_modal_projector", MS_NONE);
    p->first =
        ms_linear_new(model, p->scope, "linear_1", width, model->hidden, vision->projector_bias);
    p->second = ms_linear_new(model, p->scope, "linear_2", model->hidden, model->hidden,
                              vision->projector_bias);
    model->projector = p;
    return true;
}

/* ---- features ---- */

/* LlavaMultiModalProjector.forward: [pictures, tokens, H] */
static ms_tensor project(ms_model *model, ms_tensor x)
{
    ms_tape *tape = model->tape;
    const projector *p = model->projector;
    uint32_t previous = ms_scope_enter(tape, p->scope);
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *input = ms_argument(&f, x);
    ms_tensor *hidden = ms_local(&f, ms_linear_call(model, &p->first, *input));
    ms_assign(&f, hidden, ms_activate(tape, model->config->vision.projector_activation, *hidden));
    ms_assign(&f, hidden, ms_linear_call(model, &p->second, *hidden));
    ms_tensor result = ms_locals_end(&f, hidden);
    tape->scope = previous;
    return result;
}

/* The states that are projected: without the class token's, unless the config keeps it. */
static ms_tensor patches_of(ms_model *model, ms_tensor x)
{
    ms_tape *tape = model->tape;
    if (model->config->vision.keeps_class || ms_idle(tape) || !x)
        return x;
    return ms_narrow(tape, x, 1,
                     ms_dim_number(&tape->trace->symbols, model->run->images.grid.tokens));
}

/* list(x) and torch.cat of it: [pictures * tokens, H] */
static ms_tensor joined(ms_model *model, ms_tensor x)
{
    ms_tape *tape = model->tape;
    uint32_t count = ms_image_count(model);
    ms_tensor *parts = ms_arena_array(model->arena, ms_tensor, count);
    if (!parts)
        ms_tape_fail(tape, MS_ERR_NOMEM);
    if (ms_idle(tape) || !x)
        return 0;
    ms_unbind(tape, x, 0, count, parts);
    return ms_cat_list(tape, count, parts, 0);
}

/* The locals of forward, in the order in which its frame drops them. */
typedef struct forward_locals {
    ms_tensor *embeds;
    ms_tensor *last, *projected, *selected; /* of the tower's output */
    ms_tensor *features, *mask;
} forward_locals;

static forward_locals locals_of(ms_locals *f)
{
    forward_locals l = {.embeds = ms_local(f, 0), .last = ms_local(f, 0)};
    l.projected = ms_local(f, 0);
    l.selected = ms_local(f, 0);
    l.features = ms_local(f, 0);
    l.mask = ms_local(f, 0);
    return l;
}

/* get_image_features; the features that are projected take the place of the pooled ones. */
static ms_clip_result find_features(ms_model *model, ms_locals *f, const forward_locals *l)
{
    ms_tape *tape = model->tape;
    const ms_clip_result seen =
        ms_clip_run(model, model->pixel_values, model->config->vision.feature_layers);
    ms_assign(f, l->last, seen.last);
    ms_assign(f, l->selected, seen.selected);
    ms_retain(tape, seen.pooled);
    ms_assign(f, l->projected, project(model, patches_of(model, *l->selected)));
    ms_release(tape, seen.pooled);
    ms_graph_forget(tape, seen.nodes[1], seen.nodes[2]);
    ms_tensor all = joined(model, *l->projected);
    if (all && !ms_idle(tape))
        ms_assign(f, l->features, ms_to(tape, all, (ms_dtype)ms_info(tape, *l->embeds)->dtype));
    return seen;
}

ms_tensor ms_llava_run_with_images(ms_model *model, ms_decoder *d, ms_tensor ids,
                                   ms_tensor *features)
{
    ms_tape *tape = model->tape;
    uint32_t root = tape->trace->scopes.items[d->scope].parent;
    uint32_t previous = ms_scope_enter(tape, root);
    ms_locals f = ms_locals_begin(tape);
    const forward_locals l = locals_of(&f);
    ms_assign(&f, l.embeds, ms_decoder_embed(model, d, ids));
    const ms_clip_result seen = find_features(model, &f, &l);
    ms_assign(&f, l.mask, ms_image_token_mask(model, ids));
    ms_assign(&f, l.embeds, ms_masked_scatter(tape, *l.embeds, *l.mask, *l.features));
    ms_tensor *hidden = ms_local(&f, ms_decoder_run(model, d, *l.embeds));
    *features = tape->stopped ? 0 : *l.features;
    ms_retain(tape, *features);
    ms_assign(&f, l.embeds, 0);
    ms_assign(&f, l.last, 0);
    ms_graph_forget(tape, seen.nodes[0], seen.nodes[1]);
    ms_tensor result = ms_locals_end(&f, hidden);
    tape->scope = previous;
    return result;
}
