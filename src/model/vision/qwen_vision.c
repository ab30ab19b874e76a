/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/vision/qwen_vision.h"

#include "model/blocks/blocks.h"

typedef struct widths {
    ms_dim hidden, intermediate, merged, out;
} widths;

static uint32_t scope_below(ms_model *model, uint32_t parent, const char *name)
{
    return ms_scope_add(model->tape, parent, name, MS_NONE);
}

static uint32_t numbered(ms_model *model, uint32_t parent, uint64_t number)
{
    char name[24];
    snprintf(name, sizeof name, "%u", (unsigned)number);
    return scope_below(model, parent, name);
}

static uint32_t projection_new(ms_model *model, uint32_t parent, const widths *w)
{
    ms_symbols *s = &model->tape->trace->symbols;
    const ms_vision_config *vision = &model->config->vision;
    uint32_t scope = scope_below(model, scope_below(model, parent, "patch_embed"), "proj");
    ms_dim side = ms_dim_number(s, vision->patch_size);
    ms_parameter_new(model, scope, "weight",
                     MS_SHAPE(w->hidden, ms_dim_number(s, vision->channels),
                              ms_dim_number(s, vision->frames), side, side));
    return scope;
}

static void patches_new(ms_model *model, uint32_t parent, const widths *w)
{
    ms_symbols *s = &model->tape->trace->symbols;
    uint32_t scope = projection_new(model, parent, w);
    ms_parameter_new(model, scope, "bias", MS_SHAPE(w->hidden));
    ms_embedding_new(model, parent, "pos_embed", ms_dim_number(s, model->config->vision.positions),
                     w->hidden);
}

/* Half of a head turns by rows, half by columns. */
static void rotary_new(ms_model *model, uint32_t parent)
{
    const ms_vision_config *vision = &model->config->vision;
    uint64_t half = vision->hidden_size / vision->num_heads / 2;
    ms_shape shape = MS_SHAPE(ms_dim_number(&model->tape->trace->symbols, (half + 1) / 2));
    uint32_t previous = ms_scope_enter(model->tape, scope_below(model, parent, "rotary_pos_emb"));
    ms_buffer_new(model, shape, MS_DTYPE_F32, "inv_freq");
    ms_buffer_new(model, shape, MS_DTYPE_F32, "inv_freq");
    model->tape->scope = previous;
}

static void block_new(ms_model *model, uint32_t scope, const widths *w)
{
    ms_dim three = ms_dim_number(&model->tape->trace->symbols, 3 * w->hidden.value);
    ms_norm_new(model, scope, "norm1", w->hidden, true);
    ms_norm_new(model, scope, "norm2", w->hidden, true);
    uint32_t attention = scope_below(model, scope, "attn");
    ms_linear_new(model, attention, "qkv", w->hidden, three, true);
    ms_linear_new(model, attention, "proj", w->hidden, w->hidden, true);
    uint32_t mlp = scope_below(model, scope, "mlp");
    ms_linear_new(model, mlp, "linear_fc1", w->hidden, w->intermediate, true);
    ms_linear_new(model, mlp, "linear_fc2", w->intermediate, w->hidden, true);
}

static void merger_new(ms_model *model, uint32_t scope, const widths *w, ms_dim normed)
{
    ms_norm_new(model, scope, "norm", normed, true);
    ms_linear_new(model, scope, "linear_fc1", w->merged, w->merged, true);
    ms_linear_new(model, scope, "linear_fc2", w->merged, w->out, true);
}

static widths widths_of(ms_model *model)
{
    ms_symbols *s = &model->tape->trace->symbols;
    const ms_vision_config *vision = &model->config->vision;
    uint64_t merged = vision->hidden_size * vision->merge_size * vision->merge_size;
    return (widths){.hidden = ms_dim_name(s, "Hv", vision->hidden_size),
                    .intermediate = ms_dim_name(s, "Iv", vision->intermediate_size),
                    .merged = ms_dim_number(s, merged),
                    .out = ms_dim_name(s, "Ov", vision->out_size)};
}

bool ms_qwen_vision_new(ms_model *model, uint32_t parent)
{
    const ms_vision_config *vision = &model->config->vision;
    widths w = widths_of(model);
    uint32_t scope = scope_below(model, parent, "visual");
    patches_new(model, scope, &w);
    rotary_new(model, scope);
    uint32_t blocks = scope_below(model, scope, "blocks");
    for (uint64_t i = 0; i < vision->num_layers && model->tape->status == MS_OK; i++)
        block_new(model, numbered(model, blocks, i), &w);
    merger_new(model, scope_below(model, scope, "merger"), &w, w.hidden);
    uint32_t deep = vision->deep_mergers ? scope_below(model, scope, "deepstack_merger_list") : 0;
    for (uint64_t i = 0; i < vision->deep_mergers && model->tape->status == MS_OK; i++)
        merger_new(model, numbered(model, deep, i), &w, w.merged);
    return true;
}
