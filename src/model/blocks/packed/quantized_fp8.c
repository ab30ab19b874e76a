/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Layers and experts in fp8 (transformers 5.23, integrations/finegrained_fp8.py: FP8Linear,
 * FP8Experts), loaded as stored, as for DeepSeek-V3.
 */
#include "model/blocks/packed/quantized_fp8.h"

#include "model/blocks/packed/quantized.h"

#include <string.h>

#include "torch/ops/ops.h"

static uint64_t blocks_of(uint64_t count)
{
    return count / MS_FP8_BLOCK + (count % MS_FP8_BLOCK != 0);
}

static void make_fp8(ms_model *model, struct ms_quantized *q, uint32_t scope)
{
    q->weight = ms_packed_weight_new(model, MS_SHAPE(q->out, q->in), scope, "weight",
                                     q->out.value * q->in.value);
    ms_packed_part(model, "scales", blocks_of(q->out.value) * blocks_of(q->in.value), MS_DTYPE_F32);
}

static ms_tensor call_fp8(ms_model *model, const struct ms_quantized *q,
                          const ms_linear_module *module, ms_tensor x)
{
    (void)module; /* the bias is added in place */
    return ms_matmul_fp8(model->tape, x, q->out);
}

const ms_packing ms_packing_fp8 = {.make = make_fp8,
                                   .call = call_fp8,
                                   .adapter_dtype = ms_packed_unseen,
                                   .converts_sum = true,
                                   .packs_experts = true};

ms_tensor ms_packed_experts_new(ms_model *model, uint32_t scope, const char *name, ms_shape shape)
{
    uint64_t count = shape.dims[0].value, out = shape.dims[1].value, in = shape.dims[2].value;
    bool is_pair = strcmp(name, "gate_up_proj") == 0; /* each half has a block at least */
    uint64_t down = is_pair && blocks_of(out) < 2 ? 2 : blocks_of(out);
    uint32_t previous = ms_scope_enter(model->tape, scope);
    ms_tensor weights = ms_packed_weight_new(model, shape, scope, name, ms_elements(&shape));
    ms_packed_part(model, "scales", count * down * blocks_of(in), MS_DTYPE_F32);
    model->tape->scope = previous;
    return weights;
}
