/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/vision/clip.h"

#include "input/config/model/model_config.h"
#include "model/blocks/blocks.h"
#include "model/vision/picture_layers.h"
#include "torch/ops/ops.h"

typedef struct tower {
    uint32_t scope, embeddings_scope, patches_scope, positions_scope;
    ms_tensor class_embedding, projection, positions, position_ids;
    ms_picture_layers layers;
    ms_norm_module before, after;
} tower;

/* ---- construction ---- */

static uint32_t child(ms_model *model, uint32_t parent, const char *name)
{
    return ms_scope_add(model->tape, parent, name, MS_NONE);
}

/* torch.randn(Hv), of which the parameter is made. */
static void class_new(ms_model *model, tower *t, ms_dim hidden)
{
    t->class_embedding =
        ms_parameter_new(model, t->embeddings_scope, "class_embedding", MS_SHAPE(hidden));
}

static void embeddings_new(ms_model *model, tower *t, ms_dim hidden)
{
    ms_symbols *s = &model->tape->trace->symbols;
    const ms_vision_config *vision = &model->config->vision;
    uint64_t side = ms_picture_side(vision);
    ms_dim one = {.value = 1}, patch = ms_dim_number(s, vision->patch_size);
    ms_dim positions = ms_dim_number(s, side * side + 1);
    t->embeddings_scope = child(model, t->scope, "embeddings");
    class_new(model, t, hidden);
    t->patches_scope = child(model, t->embeddings_scope, "patch_embedding");
    t->projection =
        ms_parameter_new(model, t->patches_scope, "weight",
                         MS_SHAPE(hidden, ms_dim_number(s, vision->channels), patch, patch));
    t->positions =
        ms_embedding_new(model, t->embeddings_scope, "position_embedding", positions, hidden);
    t->positions_scope = model->tape->trace->scopes.count - 1;
    t->position_ids = ms_buffer_new(model, MS_SHAPE(one, positions), MS_DTYPE_I64, "position_ids");
}

bool ms_clip_new(ms_model *model, uint32_t parent)
{
    ms_dim hidden =
        ms_dim_name(&model->tape->trace->symbols, "Hv", model->config->vision.hidden_size);
    tower *t = ms_arena_array(model->arena, tower, 1);
    if (!t)
        return false;
    model->tower = t;
    t->scope = child(model, parent, "vision_tower");
    embeddings_new(model, t, hidden);
    t->before = ms_norm_new(model, t->scope, "pre_layrnorm", hidden, true);
    t->layers.norms_last = t->layers.projects_first = true;
    if (!ms_picture_layers_new(model, &t->layers, t->scope))
        return false;
    t->after = ms_norm_new(model, t->scope, "post_layernorm", hidden, true);
    return true;
}

/* ---- forward ---- */

static ms_tensor embed(ms_model *model, const tower *t, ms_tensor pixels)
{
    ms_tape *tape = model->tape;
    uint32_t previous = ms_scope_enter(tape, t->embeddings_scope);
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *patches =
        ms_local(&f, ms_picture_project(model, t->patches_scope, t->projection, 0, pixels));
    ms_assign(&f, patches, ms_picture_tokens(tape, *patches));
    ms_tensor *embedded = ms_local(&f, 0);
    if (!ms_idle(tape) && *patches) {
        const ms_shape shape = ms_info(tape, *patches)->shape;
        ms_dim one = {.value = 1};
        ms_tensor *class_embeds = ms_local(
            &f, ms_expand(tape, t->class_embedding, MS_SHAPE(shape.dims[0], one, shape.dims[2])));
        ms_assign(&f, embedded, ms_cat2(tape, *class_embeds, *patches, 1));
        ms_scope_enter(tape, t->positions_scope);
        ms_tensor positions = ms_embedding(tape, t->positions, t->position_ids);
        ms_scope_enter(tape, t->embeddings_scope);
        ms_assign(&f, embedded, ms_add(tape, *embedded, positions));
    }
    ms_tensor result = ms_locals_end(&f, embedded);
    tape->scope = previous;
    return result;
}

/* The class token of the last states, normed. */
static ms_tensor pool(ms_model *model, const tower *t, ms_locals *f, ms_tensor last)
{
    ms_tensor *pooled = ms_local(f, ms_select(model->tape, last, 1));
    ms_assign(f, pooled, ms_layer_norm_call(model, &t->after, *pooled));
    return *pooled;
}

ms_clip_result ms_clip_run(ms_model *model, ms_tensor pixels, uint64_t selected)
{
    ms_tape *tape = model->tape;
    tower *t = model->tower;
    uint64_t end = model->config->vision.num_layers;
    uint32_t previous = ms_scope_enter(tape, t->scope);
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *hidden = ms_local(&f, embed(model, t, pixels));
    ms_assign(&f, hidden, ms_layer_norm_call(model, &t->before, *hidden));
    ms_tensor chosen = ms_picture_layers_run(&t->layers, 0, selected, *hidden);
    ms_retain(tape, chosen);
    ms_clip_result out = {.selected = chosen, .nodes = {tape->nodes.count}};
    ms_tensor *last = ms_local(&f, ms_picture_layers_run(&t->layers, selected, end, chosen));
    out.nodes[1] = tape->nodes.count;
    out.pooled = pool(model, t, &f, *last);
    out.nodes[2] = tape->nodes.count;
    ms_retain(tape, out.pooled);
    out.last = ms_locals_end(&f, last);
    ms_unown(tape, out.pooled);
    ms_unown(tape, out.selected);
    tape->scope = previous;
    return out;
}
