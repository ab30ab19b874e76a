/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/decoder/expert_sizes.h"

#include "input/config/model/model_config.h"
#include "torch/ops/ops.h"

ms_dim ms_expert_count(ms_model *model)
{
    return ms_dim_name(&model->tape->trace->symbols, "E", model->config->num_experts);
}

ms_dim ms_experts_per_token(ms_model *model)
{
    return ms_dim_name(&model->tape->trace->symbols, "K", model->config->experts_per_token);
}

ms_dim ms_expert_width(ms_model *model)
{
    uint64_t size = model->config->expert_size;
    return size > 0 ? ms_dim_name(&model->tape->trace->symbols, "F", size) : model->intermediate;
}

ms_tensor ms_as_tokens(ms_model *model, ms_tensor hidden)
{
    ms_tape *tape = model->tape;
    if (ms_idle(tape) || !hidden)
        return 0;
    const ms_shape shape = ms_info(tape, hidden)->shape;
    ms_dim tokens = shape.dims[0];
    for (uint32_t i = 1; i + 1 < shape.rank; i++)
        tokens = ms_dim_mul(&tape->trace->symbols, tokens, shape.dims[i]);
    return ms_view(tape, hidden, MS_SHAPE(tokens, model->hidden));
}
