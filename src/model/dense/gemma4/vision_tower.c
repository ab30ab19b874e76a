/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/dense/gemma4/vision_tower.h"

#include <stdio.h>

#include "input/config/model/model_config.h"
#include "torch/ops/ops.h"

static uint32_t child(ms_model *model, uint32_t parent, const char *name)
{
    return ms_scope_add(model->tape, parent, name, MS_NONE);
}

static void embedder_new(ms_model *model, ms_gemma4_tower *t)
{
    enum { COLOURS = 3 };
    ms_symbols *s = &model->tape->trace->symbols;
    const ms_vision_config *vision = &model->config->vision;
    uint64_t pixels = COLOURS * vision->patch_size * vision->patch_size;
    uint32_t first = model->tape->parameters.count;
    t->patches_scope = child(model, t->scope, "patch_embedder");
    t->projection = ms_linear_new(model, t->patches_scope, "input_proj", ms_dim_number(s, pixels),
                                  t->hidden, false);
    ms_shape table = MS_SHAPE(ms_dim_number(s, 2), ms_dim_number(s, vision->positions), t->hidden);
    t->positions = ms_parameter_new(model, t->patches_scope, "position_embedding_table", table);
    ms_parameter_move_last(model, first);
}

/* Inverse frequencies of rows and columns alike, and their copy; made again, and dropped, when
 * weights are initialised. */
static void rotary_new(ms_model *model, ms_gemma4_tower *t)
{
    ms_tape *tape = model->tape;
    uint64_t half = model->config->vision.head_dim / 2;
    ms_dim count = ms_dim_number(&tape->trace->symbols, (half + 1) / 2);
    bool on_host = ms_is_made_on_host(model);
    ms_dtype dtype = on_host ? model->run->dtype : MS_DTYPE_F32;
    t->rotary_scope = child(model, t->encoder_scope, "rotary_emb");
    uint32_t previous = ms_scope_enter(tape, t->rotary_scope);
    t->inv_freq = ms_buffer_of(model,
                               on_host ? ms_empty(tape, MS_SHAPE(count), dtype)
                                       : ms_inverse_frequencies(model, count),
                               "inv_freq");
    (void)ms_buffer_new(model, MS_SHAPE(count), dtype, "inv_freq");
    tape->scope = previous;
}

static void attention_new(ms_model *model, const ms_gemma4_tower *t, ms_gemma4_vision_layer *l)
{
    ms_symbols *s = &model->tape->trace->symbols;
    const ms_vision_config *vision = &model->config->vision;
    bool bounds = vision->has_bounds;
    ms_dim heads = ms_dim_mul(s, ms_dim_number(s, vision->num_heads), t->head_dim);
    ms_dim keys = ms_dim_mul(s, ms_dim_number(s, vision->num_kv_heads), t->head_dim);
    uint32_t scope = l->attention_scope = child(model, l->scope, "self_attn");
    l->q_proj = ms_bounded_linear_new(model, scope, "q_proj", t->hidden, heads, bounds);
    l->k_proj = ms_bounded_linear_new(model, scope, "k_proj", t->hidden, keys, bounds);
    l->v_proj = ms_bounded_linear_new(model, scope, "v_proj", t->hidden, keys, bounds);
    l->o_proj = ms_bounded_linear_new(model, scope, "o_proj", heads, t->hidden, bounds);
    l->q_norm = ms_norm_new(model, scope, "q_norm", t->head_dim, false);
    l->k_norm = ms_norm_new(model, scope, "k_norm", t->head_dim, false);
    (void)child(model, scope, "v_norm");
}

static void layer_new(ms_model *model, const ms_gemma4_tower *t, uint32_t parent, uint32_t number)
{
    ms_gemma4_vision_layer *l = &t->layers[number];
    bool bounds = model->config->vision.has_bounds;
    char name[16];
    snprintf(name, sizeof name, "%u", number);
    l->scope = child(model, parent, name);
    attention_new(model, t, l);
    uint32_t scope = l->mlp_scope = child(model, l->scope, "mlp");
    l->gate_proj =
        ms_bounded_linear_new(model, scope, "gate_proj", t->hidden, t->intermediate, bounds);
    l->up_proj = ms_bounded_linear_new(model, scope, "up_proj", t->hidden, t->intermediate, bounds);
    l->down_proj =
        ms_bounded_linear_new(model, scope, "down_proj", t->intermediate, t->hidden, bounds);
    l->before_attention = ms_norm_new(model, l->scope, "input_layernorm", t->hidden, false);
    l->after_attention = ms_norm_new(model, l->scope, "post_attention_layernorm", t->hidden, false);
    l->before_mlp = ms_norm_new(model, l->scope, "pre_feedforward_layernorm", t->hidden, false);
    l->after_mlp = ms_norm_new(model, l->scope, "post_feedforward_layernorm", t->hidden, false);
}

static bool encoder_new(ms_model *model, ms_gemma4_tower *t)
{
    uint64_t count = model->config->vision.num_layers;
    t->layers = ms_arena_array(model->arena, ms_gemma4_vision_layer, count);
    if (!t->layers)
        return false;
    t->encoder_scope = child(model, t->scope, "encoder");
    rotary_new(model, t);
    uint32_t layers = child(model, t->encoder_scope, "layers");
    for (uint32_t i = 0; i < count && model->tape->status == MS_OK; i++)
        layer_new(model, t, layers, i);
    return true;
}

/* What initialises the weights makes them anew, and drops them. */
static void initialise(ms_model *model, const ms_gemma4_tower *t)
{
    if (ms_idle(model->tape) || ms_is_made_on_host(model))
        return;
    const ms_shape shape = ms_info(model->tape, t->inv_freq)->shape;
    ms_consume(model->tape, ms_inverse_frequencies(model, shape.dims[0]));
}

bool ms_gemma4_vision_new(ms_model *model, uint32_t parent)
{
    ms_tape *tape = model->tape;
    ms_symbols *s = &tape->trace->symbols;
    const ms_vision_config *vision = &model->config->vision;
    ms_gemma4_tower *t = ms_arena_array(model->arena, ms_gemma4_tower, 1);
    if (!t)
        return false;
    *t = (ms_gemma4_tower){.hidden = ms_dim_name(s, "Hv", vision->hidden_size),
                           .intermediate = ms_dim_name(s, "Iv", vision->intermediate_size),
                           .head_dim = ms_dim_name(s, "Dv", vision->head_dim)};
    model->tower = t;
    t->scope = child(model, parent, "vision_tower");
    embedder_new(model, t);
    if (!encoder_new(model, t))
        return false;
    t->pooler_scope = child(model, t->scope, "pooler");
    uint32_t previous = ms_scope_enter(tape, t->scope);
    if (vision->standardizes) {
        t->std_bias = ms_buffer_new(model, MS_SHAPE(t->hidden), model->run->dtype, "std_bias");
        t->std_scale = ms_buffer_new(model, MS_SHAPE(t->hidden), model->run->dtype, "std_scale");
    }
    initialise(model, t);
    tape->scope = previous;
    return true;
}
