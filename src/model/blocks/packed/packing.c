/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/blocks/packed/packing.h"

#include "torch/autograd/engine.h"
#include "torch/ops/ops.h"
#include "core/trace/build.h"

ms_tensor ms_packed_part(ms_model *model, const char *name, uint64_t count, ms_dtype dtype)
{
    ms_tape *tape = model->tape;
    tape->new_category = MS_CATEGORY_WEIGHT;
    ms_tensor tensor = ms_empty(tape, MS_SHAPE(ms_dim_number(&tape->trace->symbols, count)), dtype);
    tape->new_category = MS_CATEGORY_TEMPORARY;
    ms_retain(tape, tensor);
    if (tensor)
        ms_name_storage(tape, tensor, name, MS_CATEGORY_WEIGHT);
    return tensor;
}

ms_tensor ms_packed_weight_new(ms_model *model, ms_shape shape, uint32_t scope, const char *name,
                               uint64_t bytes)
{
    ms_tape *tape = model->tape;
    uint64_t strides[MS_MAX_RANK], stride = 1;
    for (uint32_t i = shape.rank; i-- > 0; stride *= shape.dims[i].value)
        strides[i] = stride;
    tape->new_category = MS_CATEGORY_WEIGHT;
    ms_tensor packed = ms_empty_bytes(tape, bytes, MS_DTYPE_U8);
    tape->new_category = MS_CATEGORY_TEMPORARY;
    ms_tensor weight = ms_alias(tape, packed, shape, strides);
    ms_consume(tape, packed);
    return ms_parameter_enter(model, scope, name, weight);
}

void ms_packed_swap(ms_model *model, ms_tensor weight, ms_tensor packed)
{
    ms_tape *tape = model->tape;
    if (!weight || !packed)
        return;
    const ms_storage from = tape->trace->storages.items[ms_info(tape, weight)->storage];
    ms_storage_swap(tape, weight, packed);
    ms_trace_label(tape->trace, ms_info(tape, weight)->storage, from.name, from.scope);
    ms_consume(tape, packed);
}

ms_dtype ms_packed_unseen(const ms_model *model)
{
    (void)model;
    return MS_DTYPE_F32;
}
