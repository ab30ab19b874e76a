/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/vision/qwen/qwen3_tower.h"

#include <stdio.h>

#include "model/blocks/blocks.h"

typedef struct tower {
    ms_model *model;
    uint32_t scope;
    ms_dim hidden, merged, out;
} tower;

static uint32_t child(ms_model *model, uint32_t parent, const char *name)
{
    return ms_scope_add(model->tape, parent, name, MS_NONE);
}

static uint32_t numbered(ms_model *model, uint32_t parent, uint64_t number)
{
    char name[24];
    snprintf(name, sizeof name, "%u", (unsigned)number);
    return child(model, parent, name);
}

static uint32_t count_deep(const ms_vision_config *vision)
{
    uint32_t count = 0;
    for (uint64_t i = 0; i < MS_MOST_BLOCKS; i++)
        count += vision->marked_blocks[i / 64] >> i % 64 & 1;
    return count;
}

/* The convolution whose kernel is one patch. */
static void projection_new(const tower *t)
{
    ms_model *model = t->model;
    ms_symbols *s = &model->tape->trace->symbols;
    const ms_vision_config *vision = &model->config->vision;
    ms_dim side = ms_dim_number(s, vision->patch_size);
    ms_shape shape = MS_SHAPE(t->hidden, ms_dim_number(s, vision->channels),
                              ms_dim_number(s, vision->frames), side, side);
    uint32_t scope = child(model, child(model, t->scope, "patch_embed"), "proj");
    ms_parameter_new(model, scope, "weight", shape);
    ms_parameter_new(model, scope, "bias", MS_SHAPE(t->hidden));
}

/* The frequencies by which heads turn, and their copy. */
static void rotary_new(const tower *t)
{
    ms_model *model = t->model;
    const ms_vision_config *vision = &model->config->vision;
    uint64_t half = vision->hidden_size / vision->num_heads / 2;
    ms_shape shape = MS_SHAPE(ms_dim_number(&model->tape->trace->symbols, (half + 1) / 2));
    uint32_t previous = ms_scope_enter(model->tape, child(model, t->scope, "rotary_pos_emb"));
    ms_buffer_new(model, shape, MS_DTYPE_F32, "inv_freq");
    ms_buffer_new(model, shape, MS_DTYPE_F32, "inv_freq");
    model->tape->scope = previous;
}

static void block_new(const tower *t, uint32_t scope)
{
    ms_model *model = t->model;
    ms_symbols *s = &model->tape->trace->symbols;
    ms_dim hidden = t->hidden, three = ms_dim_number(s, 3 * hidden.value);
    ms_dim middle = ms_dim_name(s, "Iv", model->config->vision.intermediate_size);
    ms_norm_new(model, scope, "norm1", hidden, true);
    ms_norm_new(model, scope, "norm2", hidden, true);
    uint32_t attention = child(model, scope, "attn");
    ms_linear_new(model, attention, "qkv", hidden, three, true);
    ms_linear_new(model, attention, "proj", hidden, hidden, true);
    uint32_t mlp = child(model, scope, "mlp");
    ms_linear_new(model, mlp, "linear_fc1", hidden, middle, true);
    ms_linear_new(model, mlp, "linear_fc2", middle, hidden, true);
}

static void merger_new(const tower *t, uint32_t scope, bool is_deep)
{
    ms_norm_new(t->model, scope, "norm", is_deep ? t->merged : t->hidden, true);
    ms_linear_new(t->model, scope, "linear_fc1", t->merged, t->merged, true);
    ms_linear_new(t->model, scope, "linear_fc2", t->merged, t->out, true);
}

bool ms_qwen_vision_new(ms_model *model, uint32_t parent)
{
    ms_symbols *s = &model->tape->trace->symbols;
    const ms_vision_config *vision = &model->config->vision;
    const uint32_t first = model->tape->parameters.count, deep = count_deep(vision);
    const uint64_t merged = vision->hidden_size * vision->merge_size * vision->merge_size;
    const tower t = {.model = model,
                     .scope = child(model, parent, "visual"),
                     .hidden = ms_dim_name(s, "Hv", vision->hidden_size),
                     .merged = ms_dim_number(s, merged),
                     .out = ms_dim_name(s, "Ov", vision->out_size)};
    projection_new(&t);
    ms_embedding_new(model, t.scope, "pos_embed", ms_dim_number(s, vision->positions), t.hidden);
    rotary_new(&t);
    uint32_t blocks = child(model, t.scope, "blocks");
    for (uint64_t i = 0; i < vision->num_layers && model->tape->status == MS_OK; i++)
        block_new(&t, numbered(model, blocks, i));
    merger_new(&t, child(model, t.scope, "merger"), false);
    uint32_t list = deep ? child(model, t.scope, "deepstack_merger_list") : 0;
    for (uint32_t i = 0; i < deep && model->tape->status == MS_OK; i++)
        merger_new(&t, numbered(model, list, i), true);
    if (model->run->images.frozen && !model->run->adapter) /* which freezes by itself */
        ms_parameters_freeze(model, first, model->tape->parameters.count);
    return true;
}
