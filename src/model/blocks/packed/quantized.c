/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/blocks/packed/quantized.h"

#include "torch/ops/ops.h"
#include "torch/autograd/engine.h"

static const ms_packing *const packings[MS_QUANTIZE_KIND_COUNT] = {
    [MS_QUANTIZE_NF4] = &ms_packing_4bit,  [MS_QUANTIZE_FP4] = &ms_packing_4bit,
    [MS_QUANTIZE_INT8] = &ms_packing_8bit, [MS_QUANTIZE_GPTQ] = &ms_packing_gptq,
    [MS_QUANTIZE_AWQ] = &ms_packing_awq,   [MS_QUANTIZE_FP8_BLOCK] = &ms_packing_fp8,
};

/* Kernels that serve and do not train, where they are others. */
static const ms_packing *const serving[MS_QUANTIZE_KIND_COUNT] = {
    [MS_QUANTIZE_GPTQ] = &ms_packing_gptq_marlin,
    [MS_QUANTIZE_AWQ] = &ms_packing_awq_marlin,
};

const ms_packing *ms_packing_of(const ms_quantization *quantization)
{
    if (!ms_is_packed(quantization))
        return NULL;
    const ms_packing *served = quantization->is_served ? serving[quantization->kind] : NULL;
    return served ? served : packings[quantization->kind];
}

struct ms_quantized *ms_quantized_new(ms_model *model, uint32_t scope, ms_dim out, ms_dim in)
{
    const ms_packing *packing = ms_packing_of(&model->run->quantization);
    struct ms_quantized *q = ms_arena_array(model->arena, struct ms_quantized, 1);
    if (!q || !packing)
        return NULL;
    *q = (struct ms_quantized){.packing = packing, .out = out, .in = in};
    uint32_t previous = ms_scope_enter(model->tape, scope);
    packing->make(model, q, scope);
    model->tape->scope = previous;
    return q;
}

void ms_quantized_finish(ms_model *model)
{
    for (uint32_t i = 0; i < model->leaves.count; i++) {
        const ms_leaf_module *leaf = &model->leaves.items[i];
        if (!leaf->quantized || !leaf->quantized->packing->finish)
            continue;
        uint32_t previous = ms_scope_enter(model->tape, leaf->scope);
        leaf->quantized->packing->finish(model, leaf);
        model->tape->scope = previous;
    }
    const ms_packing *packing = ms_packing_of(&model->run->quantization);
    if (packing && packing->empties_cache && !ms_idle(model->tape))
        ms_trace_event(model->tape, MS_EVENT_EMPTY_CACHE, 0);
}

ms_tensor ms_quantized_call(ms_model *model, const struct ms_quantized *quantized,
                            const ms_linear_module *module, ms_tensor x)
{
    if (ms_idle(model->tape) || !x)
        return 0;
    return quantized->packing->call(model, quantized, module, x);
}

/* ---- for the kinds ---- */

/* ---- PEFT's preparation ---- */

static bool stands_by_packed(const ms_model *model, const ms_parameter *parameter)
{
    const ms_leaf_module *leaf = ms_model_leaf(model, parameter->scope);
    return leaf && leaf->quantized && leaf->bias == parameter->tensor;
}

void ms_upcast(ms_model *model)
{
    const ms_packing *packing = ms_packing_of(&model->run->quantization);
    ms_tape *tape = model->tape;
    for (uint32_t i = 0; i < tape->parameters.count; i++) {
        ms_tensor tensor = tape->parameters.items[i].tensor;
        ms_dtype dtype = (ms_dtype)ms_info(tape, tensor)->dtype;
        bool is_left = packing->is_half && stands_by_packed(model, &tape->parameters.items[i]);
        if ((dtype == MS_DTYPE_BF16 || dtype == MS_DTYPE_F16) && !is_left)
            ms_module_cast(model, tensor, MS_DTYPE_F32);
    }
    ms_trace_event(tape, MS_EVENT_EMPTY_CACHE, 0);
}

ms_dtype ms_unpacked_dtype(const ms_model *model)
{
    return model->run->upcast ? MS_DTYPE_F32 : model->run->dtype;
}

void ms_cast_back(ms_model *model)
{
    const ms_tape *tape = model->tape;
    for (uint32_t i = 0; i < tape->in_order.count; i++)
        ms_module_cast(model, tape->in_order.items[i].tensor, model->run->dtype);
}
