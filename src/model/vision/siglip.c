/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/vision/siglip.h"

#include "input/config/model/model_config.h"
#include "model/blocks/blocks.h"
#include "model/vision/picture_layers.h"
#include "torch/ops/ops.h"

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

bool ms_siglip_new(ms_model *model, uint32_t parent)
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

ms_tensor ms_siglip_run(ms_model *model, ms_tensor pixels)
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
