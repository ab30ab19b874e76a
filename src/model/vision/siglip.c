/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/vision/siglip.h"

#include <stdio.h>

#include "model/blocks/blocks.h"

typedef struct widths {
    ms_dim hidden, intermediate;
} widths;

static uint32_t scope_below(ms_model *model, uint32_t parent, const char *name)
{
    return ms_scope_add(model->tape, parent, name, MS_NONE);
}

static void embeddings_new(ms_model *model, uint32_t parent, const widths *w)
{
    ms_symbols *s = &model->tape->trace->symbols;
    const ms_vision_config *vision = &model->config->vision;
    uint32_t scope = scope_below(model, parent, "embeddings");
    uint32_t patches = scope_below(model, scope, "patch_embedding");
    ms_dim side = ms_dim_number(s, vision->patch_size);
    uint64_t rows = vision->image_size / vision->patch_size;
    ms_dim positions = ms_dim_number(s, rows * rows);
    ms_parameter_new(model, patches, "weight",
                     MS_SHAPE(w->hidden, ms_dim_number(s, vision->channels), side, side));
    ms_parameter_new(model, patches, "bias", MS_SHAPE(w->hidden));
    ms_embedding_new(model, scope, "position_embedding", positions, w->hidden);
    ms_buffer_new(model, MS_SHAPE(positions), MS_DTYPE_I64, "position_ids");
}

static void mlp_new(ms_model *model, uint32_t parent, const widths *w)
{
    uint32_t scope = scope_below(model, parent, "mlp");
    ms_linear_new(model, scope, "fc1", w->hidden, w->intermediate, true);
    ms_linear_new(model, scope, "fc2", w->intermediate, w->hidden, true);
}

static void layer_new(ms_model *model, uint32_t parent, uint64_t number, const widths *w)
{
    static const char *const projections[] = {"k_proj", "v_proj", "q_proj", "out_proj"};
    char name[24];
    snprintf(name, sizeof name, "%u", (unsigned)number);
    uint32_t scope = scope_below(model, parent, name);
    ms_norm_new(model, scope, "layer_norm1", w->hidden, true);
    uint32_t attention = scope_below(model, scope, "self_attn");
    for (uint32_t i = 0; i < sizeof projections / sizeof *projections; i++)
        ms_linear_new(model, attention, projections[i], w->hidden, w->hidden, true);
    ms_norm_new(model, scope, "layer_norm2", w->hidden, true);
    mlp_new(model, scope, w);
}

/* Pools the patches by one learned query. */
static void head_new(ms_model *model, uint32_t parent, const widths *w)
{
    ms_dim one = {.value = 1}, width = w->hidden;
    ms_dim three = ms_dim_number(&model->tape->trace->symbols, 3 * width.value);
    uint32_t scope = scope_below(model, parent, "head");
    ms_parameter_new(model, scope, "probe", MS_SHAPE(one, one, width));
    uint32_t attention = scope_below(model, scope, "attention");
    ms_parameter_new(model, attention, "in_proj_weight", MS_SHAPE(three, width));
    ms_parameter_new(model, attention, "in_proj_bias", MS_SHAPE(three));
    ms_linear_new(model, attention, "out_proj", width, width, true);
    ms_norm_new(model, scope, "layernorm", width, true);
    mlp_new(model, scope, w);
}

void ms_siglip_new(ms_model *model, uint32_t parent)
{
    ms_symbols *s = &model->tape->trace->symbols;
    const ms_vision_config *vision = &model->config->vision;
    const widths w = {ms_dim_name(s, "Hv", vision->hidden_size),
                      ms_dim_name(s, "Iv", vision->intermediate_size)};
    uint32_t scope = scope_below(model, parent, "vision_tower");
    embeddings_new(model, scope, &w);
    uint32_t layers = scope_below(model, scope_below(model, scope, "encoder"), "layers");
    for (uint64_t i = 0; i < vision->num_layers && model->tape->status == MS_OK; i++)
        layer_new(model, layers, i, &w);
    ms_norm_new(model, scope, "post_layernorm", w.hidden, true);
    if (vision->has_head)
        head_new(model, scope, &w);
}
