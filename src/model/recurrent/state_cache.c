/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/recurrent/state_cache.h"

#include "core/trace/build.h"
#include "input/config/model/model_config.h"
#include "model/blocks/blocks.h"
#include "model/blocks/cache.h"
#include "torch/ops/ops.h"

/* ---- short convolution ---- */

ms_convolution_module ms_convolution_new(ms_model *model, uint32_t parent, const char *name,
                                         ms_dim channels, ms_dim width, bool bias)
{
    ms_convolution_module m = {.scope = ms_scope_add(model->tape, parent, name, MS_NONE)};
    ms_dim one = ms_dim_number(&model->tape->trace->symbols, 1);
    m.weight = ms_parameter_new(model, m.scope, "weight", MS_SHAPE(channels, one, width));
    if (bias)
        m.bias = ms_parameter_new(model, m.scope, "bias", MS_SHAPE(channels));
    return m;
}

ms_tensor ms_convolution_call(ms_model *model, const ms_convolution_module *m,
                              ms_activation activation, ms_tensor x)
{
    ms_tape *tape = model->tape;
    if (ms_idle(tape) || !x)
        return 0;
    uint32_t previous = ms_scope_enter(tape, m->scope);
    ms_dtype dtype = (ms_dtype)ms_info(tape, x)->dtype;
    const ms_dim tokens = ms_info(tape, x)->shape.dims[2];
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *input = ms_argument(&f, x);
    ms_tensor cast = ms_to(tape, *input, (ms_dtype)ms_info(tape, m->weight)->dtype);
    ms_tensor whole = ms_depthwise(tape, cast, m->weight, m->bias);
    ms_tensor *out = ms_local(&f, whole ? ms_narrow(tape, whole, 2, tokens) : 0);
    if (activation != MS_ACTIVATION_COUNT)
        ms_assign(&f, out, ms_activate(tape, activation, *out));
    if (!ms_idle(tape))
        ms_assign(&f, out, ms_to(tape, *out, dtype));
    ms_tensor result = ms_locals_end(&f, out);
    tape->scope = previous;
    return result;
}

/* ---- state cache ---- */

bool ms_state_is_continued(const ms_model *model, uint64_t layer)
{
    return model->cache && model->cache->layers[layer].values && model->seq.value == 1;
}

/* Zeros that the cache holds. */
static ms_tensor kept(ms_tape *tape, ms_shape shape, ms_dtype dtype)
{
    ms_tensor tensor = ms_empty(tape, shape, dtype);
    ms_retain(tape, tensor);
    if (!ms_idle(tape))
        ms_trace_keep(tape->trace, ms_info(tape, tensor)->storage);
    return tensor;
}

ms_tensor ms_state_inputs(ms_model *model, uint64_t layer, ms_tensor x)
{
    ms_tape *tape = model->tape;
    const ms_dim width = ms_dim_number(&tape->trace->symbols, model->config->convolution_width);
    if (!model->cache || ms_idle(tape) || !x)
        return x;
    if (ms_state_is_continued(model, layer)) {
        model->cache->layers[layer].seen += model->seq.value;
        return x;
    }
    ms_shape shape = ms_info(tape, x)->shape;
    const bool is_short = shape.dims[2].value < width.value;
    shape.dims[2] = width;
    model->cache->layers[layer].keys = kept(tape, shape, (ms_dtype)ms_info(tape, x)->dtype);
    model->cache->layers[layer].seen += model->seq.value;
    if (!is_short)
        return x;
    ms_consume(tape, x);
    return ms_empty(tape, shape, (ms_dtype)ms_info(tape, x)->dtype);
}

/* causal_conv1d_update() of one token: [B, C, 1] after the activation. */
static ms_tensor go_on(ms_model *model, uint64_t layer, const ms_convolution_module *m,
                       ms_activation activation, ms_tensor x)
{
    ms_tape *tape = model->tape;
    const ms_cached_layer *row = &model->cache->layers[layer];
    if (ms_idle(tape) || !x)
        return 0;
    uint32_t previous = ms_scope_enter(tape, m->scope);
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *input = ms_argument(&f, x);
    ms_tensor *joined = ms_local(&f, ms_cat2(tape, row->keys, *input, 2));
    ms_tensor whole = ms_depthwise_inside(tape, *joined, m->weight, m->bias);
    ms_tensor *out = ms_local(&f, whole ? ms_narrow(tape, whole, 2, model->seq) : 0);
    ms_assign(&f, out, ms_activate(tape, activation, *out));
    ms_tensor result = ms_locals_end(&f, out);
    tape->scope = previous;
    return result;
}

void ms_state_convolve(ms_model *model, uint64_t layer, const ms_convolution_module *m,
                       ms_activation activation, ms_locals *f, ms_tensor *x)
{
    ms_tape *tape = model->tape;
    ms_assign(f, x, ms_state_inputs(model, layer, *x));
    if (ms_state_is_continued(model, layer)) {
        ms_assign(f, x, go_on(model, layer, m, activation, *x));
        return;
    }
    ms_assign(f, x, ms_convolution_call(model, m, activation, *x));
    if (model->cache && !ms_idle(tape))
        ms_assign(f, x, ms_narrow(tape, *x, 2, model->seq));
}

void ms_state_hold(ms_model *model, uint64_t layer, ms_tensor state)
{
    ms_tape *tape = model->tape;
    if (!state || !model->cache || ms_idle(tape))
        return;
    const ms_tensor_info info = *ms_info(tape, state);
    model->cache->layers[layer].values = kept(tape, info.shape, (ms_dtype)info.dtype);
}

void ms_state_keep(ms_model *model, uint64_t layer, ms_locals *f, ms_tensor state)
{
    if (!state)
        return;
    ms_local(f, state);
    ms_release(model->tape, state);
    ms_state_hold(model, layer, state);
}
