/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/recurrent/state_cache.h"

#include "core/trace/build.h"
#include "input/config/model/model_config.h"
#include "model/blocks/blocks.h"
#include "model/blocks/cache.h"
#include "torch/ops/ops.h"

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

void ms_state_keep(ms_model *model, uint64_t layer, ms_tensor state)
{
    ms_tape *tape = model->tape;
    if (!state || !model->cache || ms_idle(tape))
        return;
    const ms_tensor_info info = *ms_info(tape, state);
    model->cache->layers[layer].values = kept(tape, info.shape, (ms_dtype)info.dtype);
}
