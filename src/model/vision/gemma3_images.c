/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/vision/gemma3_images.h"

#include <inttypes.h>

#include "input/config/model/model_config.h"
#include "model/blocks/blocks.h"
#include "model/blocks/model.h"
#include "model/vision/image_tokens.h"
#include "model/vision/picture_layers.h"
#include "torch/ops/ops.h"

/* ---- siglip ---- */

/* SigLIP's vision tower (SiglipVisionModel of transformers). */

typedef struct tower {
    uint32_t scope, embeddings_scope, patches_scope, positions_scope;
    ms_tensor projection, projection_bias, positions, position_ids;
    ms_picture_layers layers;
    ms_norm_module norm;
} tower;

/* ---- construction ---- */

static uint32_t child(ms_model *model, uint32_t parent, const char *name)
{
    return ms_scope_add(model->tape, parent, name, MS_NONE);
}

static void embeddings_new(ms_model *model, tower *t, ms_dim hidden)
{
    ms_symbols *s = &model->tape->trace->symbols;
    const ms_vision_config *vision = &model->config->vision;
    uint64_t rows = ms_picture_side(vision);
    ms_dim one = {.value = 1}, side = ms_dim_number(s, vision->patch_size);
    ms_dim positions = ms_dim_number(s, rows * rows);
    t->embeddings_scope = child(model, t->scope, "embeddings");
    t->patches_scope = child(model, t->embeddings_scope, "patch_embedding");
    t->projection =
        ms_parameter_new(model, t->patches_scope, "weight",
                         MS_SHAPE(hidden, ms_dim_number(s, vision->channels), side, side));
    t->projection_bias = ms_parameter_new(model, t->patches_scope, "bias", MS_SHAPE(hidden));
    t->positions =
        ms_embedding_new(model, t->embeddings_scope, "position_embedding", positions, hidden);
    t->positions_scope = model->tape->trace->scopes.count - 1;
    t->position_ids = ms_buffer_new(model, MS_SHAPE(one, positions), MS_DTYPE_I64, "position_ids");
}

/* Pools the patches by one learned query. */
static void head_new(ms_model *model, uint32_t parent, ms_dim width)
{
    ms_symbols *s = &model->tape->trace->symbols;
    ms_dim one = {.value = 1}, three = ms_dim_number(s, 3 * width.value);
    ms_dim middle = ms_dim_name(s, "Iv", model->config->vision.intermediate_size);
    uint32_t scope = child(model, parent, "head");
    ms_parameter_new(model, scope, "probe", MS_SHAPE(one, one, width));
    uint32_t attention = child(model, scope, "attention");
    ms_parameter_new(model, attention, "in_proj_weight", MS_SHAPE(three, width));
    ms_parameter_new(model, attention, "in_proj_bias", MS_SHAPE(three));
    ms_linear_new(model, attention, "out_proj", width, width, true);
    ms_norm_new(model, scope, "layernorm", width, true);
    uint32_t mlp = child(model, scope, "mlp");
    ms_linear_new(model, mlp, "fc1", width, middle, true);
    ms_linear_new(model, mlp, "fc2", middle, width, true);
}

/* Creates the parameters below `parent`, from config->vision, and sets model->tower. False when out
 * of memory. */
static bool siglip_new(ms_model *model, uint32_t parent)
{
    ms_dim hidden =
        ms_dim_name(&model->tape->trace->symbols, "Hv", model->config->vision.hidden_size);
    tower *t = ms_arena_array(model->arena, tower, 1);
    if (!t)
        return false;
    model->tower = t;
    t->scope = child(model, parent, "vision_tower");
    embeddings_new(model, t, hidden);
    if (!ms_picture_layers_new(model, &t->layers, t->scope))
        return false;
    t->norm = ms_norm_new(model, t->scope, "post_layernorm", hidden, true);
    if (model->config->vision.has_head)
        head_new(model, t->scope, hidden);
    return true;
}

/* ---- forward ---- */

static ms_tensor embed(ms_model *model, const tower *t, ms_tensor pixels)
{
    ms_tape *tape = model->tape;
    uint32_t previous = ms_scope_enter(tape, t->embeddings_scope);
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *patches = ms_local(
        &f, ms_picture_project(model, t->patches_scope, t->projection, t->projection_bias, pixels));
    ms_tensor *embedded = ms_local(&f, 0);
    if (!ms_idle(tape) && *patches) {
        ms_assign(&f, embedded, ms_picture_tokens(tape, *patches));
        ms_scope_enter(tape, t->positions_scope);
        ms_tensor positions = ms_embedding(tape, t->positions, t->position_ids);
        ms_scope_enter(tape, t->embeddings_scope);
        ms_assign(&f, embedded, ms_add(tape, *embedded, positions));
    }
    ms_tensor result = ms_locals_end(&f, embedded);
    tape->scope = previous;
    return result;
}

/* The last hidden states of pictures, [pictures, patches, Hv], floating. A pooling head has
 * parameters only. */
static ms_tensor siglip_run(ms_model *model, ms_tensor pixels)
{
    ms_tape *tape = model->tape;
    tower *t = model->tower;
    uint32_t previous = ms_scope_enter(tape, t->scope);
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *hidden = ms_local(&f, embed(model, t, pixels));
    ms_tensor *encoded = ms_local(
        &f, ms_picture_layers_run(&t->layers, 0, model->config->vision.num_layers, *hidden));
    ms_tensor *last = ms_local(&f, *encoded);
    ms_assign(&f, last, ms_layer_norm_call(model, &t->norm, *last));
    ms_tensor result = ms_locals_end(&f, last);
    tape->scope = previous;
    return result;
}

/* ---- places ---- */

static uint64_t root_of(uint64_t square)
{
    uint64_t root = 0;
    while ((root + 1) * (root + 1) <= square)
        root++;
    return root;
}

ms_status ms_gemma3_place_image(const ms_model_config *config, const uint64_t sides[2],
                                ms_image_grid *grid, ms_error *err)
{
    (void)sides;
    const ms_vision_config *vision = &config->vision;
    uint64_t patches = vision->image_size / vision->patch_size, side = root_of(vision->tokens);
    if (vision->hidden_size % vision->num_heads != 0)
        return ms_fail(err, MS_ERR_CONFIG,
                       "the tower's %" PRIu64 " heads do not divide its %" PRIu64 " elements",
                       vision->num_heads, vision->hidden_size);
    if (vision->has_head)
        return ms_fail(err, MS_ERR_CONFIG,
                       "images with a pooling head of the tower are not predicted: "
                       "vision_use_head must be false");
    if (side * side != vision->tokens || patches < side || patches / (patches / side) != side)
        return ms_fail(err, MS_ERR_CONFIG,
                       "%" PRIu64 "x%" PRIu64 " patches cannot be pooled into %" PRIu64 " tokens",
                       patches, patches, vision->tokens);
    *grid = (ms_image_grid){.rows = patches, .columns = patches, .tokens = vision->tokens};
    return MS_OK;
}

/* ---- construction ---- */

typedef struct projector {
    uint32_t scope;
    ms_tensor weight;
    ms_norm_module norm;
} projector;

bool ms_gemma3_towers_new(ms_model *model, uint32_t scope)
{
    projector *p = ms_arena_array(model->arena, projector, 1);
    uint32_t first = model->tape->parameters.count;
    if (!p || !siglip_new(model, scope))
        return false;
    if (model->run->images.frozen && !model->run->adapter) /* which freezes by itself */
        ms_parameters_freeze(model, first, model->tape->parameters.count);
    ms_dim vision =
        ms_dim_name(&model->tape->trace->symbols, "Hv", model->config->vision.hidden_size);
    p->scope = ms_scope_add(model->tape, scope, "multi_modal_projector", MS_NONE);
    p->weight = ms_parameter_new(model, p->scope, "mm_input_projection_weight",
                                 MS_SHAPE(vision, model->hidden));
    p->norm = ms_norm_new(model, p->scope, "mm_soft_emb_norm", vision, false);
    model->projector = p;
    return true;
}

/* ---- features ---- */

/* [pictures, patches, Hv] into [pictures, Hv, rows, columns], a copy. */
static ms_tensor as_picture(ms_model *model, ms_tensor x)
{
    ms_tape *tape = model->tape;
    if (ms_idle(tape) || !x)
        return 0;
    const ms_shape shape = ms_info(tape, x)->shape;
    ms_dim side = ms_dim_number(&tape->trace->symbols, model->run->images.grid.rows);
    ms_tensor turned = ms_reshape(tape, ms_transpose(tape, x, 1, 2),
                                  MS_SHAPE(shape.dims[0], shape.dims[2], side, side));
    return ms_contiguous(tape, turned);
}

/* avg_pool(x).flatten(2).transpose(1, 2): [pictures, tokens, Hv] */
static ms_tensor pooled(ms_model *model, ms_tensor x)
{
    ms_tape *tape = model->tape;
    if (ms_idle(tape) || !x)
        return 0;
    ms_symbols *s = &tape->trace->symbols;
    uint64_t tokens = model->run->images.grid.tokens;
    ms_dim side = ms_dim_number(s, root_of(tokens));
    const ms_shape shape = ms_info(tape, x)->shape;
    ms_tensor windows = ms_avg_pool(tape, x, side, side);
    ms_shape flat = MS_SHAPE(shape.dims[0], shape.dims[1], ms_dim_number(s, tokens));
    return ms_transpose(tape, ms_view(tape, windows, flat), 1, 2);
}

/* Gemma3MultiModalProjector.forward: [pictures, tokens, H] in the type of x. */
static ms_tensor project(ms_model *model, ms_tensor x)
{
    ms_tape *tape = model->tape;
    const projector *p = model->projector;
    uint32_t previous = ms_scope_enter(tape, p->scope);
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *input = ms_argument(&f, x);
    ms_tensor *picture = ms_local(&f, as_picture(model, *input));
    ms_tensor *tokens = ms_local(&f, pooled(model, *picture));
    ms_tensor *normed = ms_local(&f, ms_centered_rms_norm_call(model, &p->norm, *tokens));
    ms_tensor *out = ms_local(&f, ms_matmul_weight(tape, *normed, p->weight));
    if (!ms_idle(tape))
        ms_assign(&f, out, ms_to(tape, *out, (ms_dtype)ms_info(tape, *input)->dtype));
    ms_tensor result = ms_locals_end(&f, out);
    tape->scope = previous;
    return result;
}

/* ---- forward ---- */

ms_tensor ms_gemma3_run_text(ms_model *model, ms_decoder *d, ms_tensor embeds)
{
    uint32_t previous = ms_scope_enter(model->tape, d->scope);
    ms_locals f = ms_locals_begin(model->tape);
    ms_tensor *position_ids = ms_local(&f, ms_position_ids(model));
    ms_tensor *hidden = ms_decoder_layers(model, d, &f, embeds, *position_ids);
    ms_tensor result = ms_locals_end(&f, hidden);
    model->tape->scope = previous;
    return result;
}

/* The locals of forward, in the order in which its frame drops them. */
typedef struct forward_locals {
    ms_tensor *last; /* of the tower */
    ms_tensor *mask, *features, *full, *sliding, *embeds, *blocks;
} forward_locals;

static forward_locals locals_of(ms_locals *f)
{
    forward_locals l = {.last = ms_local(f, 0), .mask = ms_local(f, 0)};
    l.features = ms_local(f, 0);
    l.full = ms_local(f, 0);
    l.sliding = ms_local(f, 0);
    l.embeds = ms_local(f, 0);
    l.blocks = ms_local(f, 0);
    return l;
}

static void find_features(ms_model *model, ms_locals *f, const forward_locals *l)
{
    ms_tape *tape = model->tape;
    ms_assign(f, l->last, siglip_run(model, model->pixel_values));
    ms_assign(f, l->features, project(model, *l->last));
    if (!ms_idle(tape))
        ms_assign(f, l->features,
                  ms_to(tape, *l->features, (ms_dtype)ms_info(tape, *l->embeds)->dtype));
}

ms_tensor ms_gemma3_run_with_images(ms_model *model, ms_decoder *d, ms_tensor ids,
                                    ms_tensor *features)
{
    ms_tape *tape = model->tape;
    uint32_t root = tape->trace->scopes.items[d->scope].parent;
    uint32_t previous = ms_scope_enter(tape, root);
    ms_locals f = ms_locals_begin(tape);
    const forward_locals l = locals_of(&f);
    ms_assign(&f, l.embeds, ms_decoder_embed(model, d, ids));
    find_features(model, &f, &l);
    ms_assign(&f, l.mask, ms_image_token_mask(model, ids));
    ms_assign(&f, l.embeds, ms_masked_scatter(tape, *l.embeds, *l.mask, *l.features));
    ms_assign(&f, l.blocks, ms_image_blocks(model, ids, false));
    ms_assign(&f, l.full, ms_image_mask(model, false));
    ms_assign(&f, l.sliding, ms_image_mask(model, true));
    d->full_mask = *l.full;
    d->sliding_mask = *l.sliding;
    ms_tensor *hidden = ms_local(&f, ms_gemma3_run_text(model, d, *l.embeds));
    *features = tape->stopped ? 0 : *l.features;
    ms_retain(tape, *features);
    ms_tensor result = ms_locals_end(&f, hidden);
    tape->scope = previous;
    return result;
}
