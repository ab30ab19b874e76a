/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/dense/gemma4/audio_tower.h"

#include <stdio.h>

#include "input/config/model/model_config.h"
#include "torch/ops/ops.h"

typedef struct widths {
    ms_dim hidden, twice, four_times, heads, head_dim; /* heads: of all heads together */
    bool bounds;
} widths;

static uint32_t child(ms_model *model, uint32_t parent, const char *name)
{
    return ms_scope_add(model->tape, parent, name, MS_NONE);
}

static void bounded(ms_model *model, uint32_t parent, const char *name, ms_dim in, ms_dim out,
                    const widths *w)
{
    (void)ms_bounded_linear_new(model, parent, name, in, out, w->bounds);
}

static void norm(ms_model *model, uint32_t parent, const char *name, const widths *w)
{
    (void)ms_norm_new(model, parent, name, w->hidden, false);
}

/* Two convolutions of 3x3, each with a norm over its channels. */
static void subsampling_new(ms_model *model, uint32_t parent, const widths *w)
{
    static const char *const names[] = {"layer0", "layer1"};
    ms_symbols *s = &model->tape->trace->symbols;
    const uint64_t *channels = model->config->audio.channels;
    ms_dim three = ms_dim_number(s, 3), in = ms_dim_number(s, 1);
    uint32_t scope = child(model, parent, "subsample_conv_projection");
    for (int i = 0; i < 2; i++) {
        ms_dim out = ms_dim_number(s, channels[i]);
        uint32_t layer = child(model, scope, names[i]);
        ms_parameter_new(model, child(model, layer, "conv"), "weight",
                         MS_SHAPE(out, in, three, three));
        ms_layer_norm_new(model, layer, "norm", out, false);
        in = out;
    }
    ms_linear_new(model, scope, "input_proj_linear",
                  ms_dim_number(s, channels[0] / 4 * channels[1]), w->hidden, false);
}

/* min * exp(arange(count) * c): made again, and dropped, when weights are initialised. */
static ms_tensor timescales(ms_model *model, ms_shape shape)
{
    ms_tape *tape = model->tape;
    ms_tensor range = ms_empty(tape, shape, MS_DTYPE_I64);
    ms_tensor exponents = ms_empty(tape, shape, model->run->dtype);
    ms_consume(tape, range);
    ms_tensor powers = ms_empty(tape, shape, model->run->dtype);
    ms_consume(tape, exponents);
    ms_tensor result = ms_empty(tape, shape, model->run->dtype);
    ms_consume(tape, powers);
    return result;
}

static ms_shape timescales_shape(ms_model *model)
{
    return MS_SHAPE(
        ms_dim_number(&model->tape->trace->symbols, model->config->audio.hidden_size / 2));
}

static void positions_new(ms_model *model, uint32_t parent)
{
    ms_tape *tape = model->tape;
    uint32_t previous = ms_scope_enter(tape, child(model, parent, "rel_pos_enc"));
    const ms_shape shape = timescales_shape(model);
    ms_tensor made = ms_is_made_on_host(model) ? ms_empty(tape, shape, model->run->dtype)
                                               : timescales(model, shape);
    (void)ms_buffer_of(model, made, "inv_timescales");
    tape->scope = previous;
}

static void feed_forward_new(ms_model *model, uint32_t parent, const char *name, const widths *w)
{
    uint32_t scope = child(model, parent, name);
    bounded(model, scope, "ffw_layer_1", w->hidden, w->four_times, w);
    bounded(model, scope, "ffw_layer_2", w->four_times, w->hidden, w);
    norm(model, scope, "pre_layer_norm", w);
    norm(model, scope, "post_layer_norm", w);
}

static void attention_new(ms_model *model, uint32_t parent, const widths *w)
{
    static const char *const names[] = {"q_proj", "k_proj", "v_proj"};
    ms_tape *tape = model->tape;
    uint32_t scope = child(model, parent, "self_attn"), first = tape->parameters.count;
    for (int i = 0; i < 3; i++)
        bounded(model, scope, names[i], w->hidden, w->heads, w);
    bounded(model, scope, "post", w->hidden, w->hidden, w);
    ms_linear_new(model, scope, "relative_k_proj", w->hidden, w->heads, false);
    ms_parameter_new(model, scope, "per_dim_scale", MS_SHAPE(w->head_dim));
    ms_parameter_move_last(model, first);
    uint32_t previous = ms_scope_enter(tape, scope);
    (void)ms_buffer_new(model, (ms_shape){0}, model->run->dtype, "softcap");
    tape->scope = previous;
}

static void convolution_new(ms_model *model, uint32_t parent, const widths *w)
{
    ms_symbols *s = &model->tape->trace->symbols;
    uint32_t scope = child(model, parent, "lconv1d");
    bounded(model, scope, "linear_start", w->hidden, w->twice, w);
    bounded(model, scope, "linear_end", w->hidden, w->hidden, w);
    ms_shape kernel = MS_SHAPE(w->hidden, ms_dim_number(s, 1),
                               ms_dim_number(s, model->config->audio.kernel_size));
    ms_parameter_new(model, child(model, scope, "depthwise_conv1d"), "weight", kernel);
    norm(model, scope, "pre_layer_norm", w);
    norm(model, scope, "conv_norm", w);
}

static void layer_new(ms_model *model, uint32_t parent, uint32_t number, const widths *w)
{
    char name[16];
    snprintf(name, sizeof name, "%u", number);
    uint32_t scope = child(model, parent, name);
    feed_forward_new(model, scope, "feed_forward1", w);
    feed_forward_new(model, scope, "feed_forward2", w);
    attention_new(model, scope, w);
    convolution_new(model, scope, w);
    norm(model, scope, "norm_pre_attn", w);
    norm(model, scope, "norm_post_attn", w);
    norm(model, scope, "norm_out", w);
}

void ms_gemma4_audio_new(ms_model *model, uint32_t parent)
{
    ms_symbols *s = &model->tape->trace->symbols;
    const ms_audio_config *audio = &model->config->audio;
    uint64_t hidden = audio->hidden_size, head_dim = hidden / audio->num_heads;
    const widths w = {.hidden = ms_dim_name(s, "Ha", hidden),
                      .twice = ms_dim_number(s, 2 * hidden),
                      .four_times = ms_dim_number(s, 4 * hidden),
                      .heads = ms_dim_number(s, head_dim * audio->num_heads),
                      .head_dim = ms_dim_number(s, head_dim),
                      .bounds = audio->has_bounds};
    uint32_t scope = child(model, parent, "audio_tower");
    subsampling_new(model, scope, &w);
    positions_new(model, scope);
    uint32_t layers = child(model, scope, "layers");
    for (uint32_t i = 0; i < audio->num_layers && model->tape->status == MS_OK; i++)
        layer_new(model, layers, i, &w);
    ms_linear_new(model, scope, "output_proj", w.hidden, ms_dim_number(s, audio->out_size), true);
    if (!ms_is_made_on_host(model) && !ms_idle(model->tape))
        ms_consume(model->tape, timescales(model, timescales_shape(model)));
}
