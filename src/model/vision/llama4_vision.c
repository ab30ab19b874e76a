/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/vision/llama4_vision.h"

#include <stdio.h>

#include "input/config/model/model_config.h"
#include "model/blocks/blocks.h"

typedef struct widths {
    ms_dim hidden, intermediate;
} widths;

static uint32_t scope_below(ms_model *model, uint32_t parent, const char *name)
{
    return ms_scope_add(model->tape, parent, name, MS_NONE);
}

/* Of one image: its patches and a token for the class. */
static uint64_t token_count(const ms_vision_config *vision)
{
    uint64_t rows = vision->image_size / vision->patch_size;
    return rows * rows + 1;
}

/* scale * torch.randn(shape), listed at `place`: before submodules, which are made earlier. */
static void scaled_new(ms_model *model, uint32_t scope, const char *name, ms_shape shape,
                       uint32_t place)
{
    ms_tensor random = ms_empty(model->tape, shape, model->run->dtype);
    ms_parameter_new(model, scope, name, shape);
    ms_consume(model->tape, random);
    ms_parameter_move_last(model, place);
}

static void embeddings_new(ms_model *model, uint32_t scope, const widths *w)
{
    ms_symbols *s = &model->tape->trace->symbols;
    const ms_vision_config *vision = &model->config->vision;
    ms_dim tokens = ms_dim_number(s, token_count(vision)), one = {.value = 1};
    ms_dim pixels = ms_dim_number(s, vision->channels * vision->patch_size * vision->patch_size);
    ms_dim half_head = ms_dim_number(s, vision->hidden_size / vision->num_heads / 2);
    uint32_t first = model->tape->parameters.count;
    uint32_t patches = scope_below(model, scope, "patch_embedding");
    ms_linear_new(model, patches, "linear", pixels, w->hidden, false);
    scaled_new(model, scope, "class_embedding", MS_SHAPE(w->hidden), first);
    scaled_new(model, scope, "positional_embedding_vlm", MS_SHAPE(tokens, w->hidden), first + 1);
    ms_buffer_new(model, MS_SHAPE(tokens, one, half_head), MS_DTYPE_C64, "freqs_ci");
    ms_norm_new(model, scope, "layernorm_pre", w->hidden, true);
    ms_norm_new(model, scope, "layernorm_post", w->hidden, true);
}

static void layer_new(ms_model *model, uint32_t parent, uint64_t number, const widths *w)
{
    static const char *const projections[] = {"q_proj", "k_proj", "v_proj", "o_proj"};
    char name[24];
    snprintf(name, sizeof name, "%u", (unsigned)number);
    uint32_t scope = scope_below(model, parent, name);
    uint32_t attention = scope_below(model, scope, "self_attn");
    for (uint32_t i = 0; i < sizeof projections / sizeof *projections; i++)
        ms_linear_new(model, attention, projections[i], w->hidden, w->hidden, true);
    uint32_t mlp = scope_below(model, scope, "mlp");
    ms_linear_new(model, mlp, "fc1", w->hidden, w->intermediate, true);
    ms_linear_new(model, mlp, "fc2", w->intermediate, w->hidden, true);
    ms_norm_new(model, scope, "input_layernorm", w->hidden, true);
    ms_norm_new(model, scope, "post_attention_layernorm", w->hidden, true);
}

/* Of patches that are joined, then of their width to the text model's. */
static void projector_new(ms_model *model, uint32_t parent, const widths *w)
{
    ms_symbols *s = &model->tape->trace->symbols;
    const ms_vision_config *vision = &model->config->vision;
    ms_dim in = ms_dim_number(s, vision->projector_in),
           out = ms_dim_number(s, vision->projector_out);
    uint32_t mlp = scope_below(model, scope_below(model, parent, "vision_adapter"), "mlp");
    ms_linear_new(model, mlp, "fc1", w->intermediate, in, false);
    ms_linear_new(model, mlp, "fc2", out, out, false);
    uint32_t projector = scope_below(model, MS_NONE, "multi_modal_projector");
    ms_linear_new(model, projector, "linear_1", ms_dim_number(s, vision->out_size), model->hidden,
                  false);
}

void ms_llama4_vision_new(ms_model *model)
{
    ms_symbols *s = &model->tape->trace->symbols;
    const ms_vision_config *vision = &model->config->vision;
    const widths w = {ms_dim_name(s, "Hv", vision->hidden_size),
                      ms_dim_name(s, "Iv", vision->intermediate_size)};
    uint32_t scope = scope_below(model, MS_NONE, "vision_model");
    embeddings_new(model, scope, &w);
    uint32_t layers = scope_below(model, scope_below(model, scope, "model"), "layers");
    for (uint64_t i = 0; i < vision->num_layers && model->tape->status == MS_OK; i++)
        layer_new(model, layers, i, &w);
    projector_new(model, scope, &w);
}
