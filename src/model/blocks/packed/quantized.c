/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/blocks/packed/quantized.h"

#include <string.h>

#include "model/blocks/packed/packing.h"
#include "torch/autograd/engine.h"
#include "torch/ops/ops.h"

/* ---- quantized groups ---- */

/* GPTQ and AWQ as GPT-QModel 7.7 trains on them: weights are loaded packed in 32-bit words,
 * along the inputs for one and along the outputs for the other; scales and zeros are per group
 * of inputs. */

enum { WORD_BITS = 32 };

static uint64_t divide_up(uint64_t a, uint64_t b)
{
    return a / b + (a % b != 0);
}

static uint64_t groups_of(const ms_model *model, const struct ms_quantized *q)
{
    uint32_t group = model->run->quantization.group_weights;
    return group ? divide_up(q->in.value, group) : 1;
}

/* Zeros, packed like the weights of one input; then scales. */
static void make_scales(ms_model *model, const struct ms_quantized *q)
{
    uint64_t bits = model->run->quantization.bits, groups = groups_of(model, q);
    ms_packed_part(model, "zeros", groups * divide_up(q->out.value * bits, WORD_BITS),
                   MS_DTYPE_I32);
    ms_packed_part(model, "scales", groups * q->out.value, MS_DTYPE_F16);
}

/* ---- GPTQ: TritonV2Linear ---- */

/* With the group of each input. */
static void make_gptq(ms_model *model, struct ms_quantized *q, uint32_t scope)
{
    uint64_t bits = model->run->quantization.bits;
    q->weight = ms_packed_weight_new(model, MS_SHAPE(q->out, q->in), scope, "weight",
                                     4 * divide_up(q->in.value * bits, WORD_BITS) * q->out.value);
    make_scales(model, q);
    ms_packed_part(model, "group index", q->in.value, MS_DTYPE_I32);
}

/* The shifts that unpack a word. */
static void finish_gptq(ms_model *model, const ms_leaf_module *leaf)
{
    (void)leaf;
    ms_packed_part(model, "shifts", WORD_BITS / model->run->quantization.bits, MS_DTYPE_I32);
}

/* The weight is made in fp16, cast if x is of another type, and saved by the product. */
static ms_tensor call_gptq(ms_model *model, const struct ms_quantized *q,
                           const ms_linear_module *module, ms_tensor x)
{
    ms_tape *tape = model->tape;
    ms_dtype dtype = (ms_dtype)ms_info(tape, x)->dtype;
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *input = ms_argument(&f, x);
    const ms_gptq_weight packed = {q->in, q->out, groups_of(model, q),
                                   model->run->quantization.bits};
    ms_tensor *weight = ms_local(&f, ms_dequantize_gptq(tape, &packed));
    ms_assign(&f, weight, ms_to(tape, *weight, dtype));
    ms_tensor *out = ms_local(&f, ms_matmul_weight(tape, *input, *weight));
    ms_assign(&f, weight, 0);
    if (module->bias)
        ms_assign(&f, out, ms_add_into_view(tape, *out, module->bias));
    return ms_locals_end(&f, out);
}

static ms_dtype scales_dtype(const ms_model *model)
{
    (void)model;
    return MS_DTYPE_F16;
}

const ms_packing ms_packing_gptq = {.make = make_gptq,
                                    .finish = finish_gptq,
                                    .call = call_gptq,
                                    .adapter_dtype = scales_dtype,
                                    .is_half = true,
                                    .converts_sum = true};

/* ---- AWQ: AwqGEMMLinear ---- */

static void make_awq(ms_model *model, struct ms_quantized *q, uint32_t scope)
{
    uint64_t bits = model->run->quantization.bits;
    q->weight = ms_packed_weight_new(model, MS_SHAPE(q->out, q->in), scope, "weight",
                                     4 * q->in.value * divide_up(q->out.value * bits, WORD_BITS));
    make_scales(model, q);
}

static ms_tensor call_awq(ms_model *model, const struct ms_quantized *q,
                          const ms_linear_module *module, ms_tensor x)
{
    ms_tape *tape = model->tape;
    ms_dtype dtype = (ms_dtype)ms_info(tape, x)->dtype;
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *input = ms_argument(&f, x);
    ms_assign(&f, input, ms_to(tape, *input, MS_DTYPE_F16));
    ms_tensor *out = ms_local(&f, ms_matmul_awq(tape, *input, q->out, module->bias));
    ms_assign(&f, out, ms_to(tape, *out, dtype));
    return ms_locals_end(&f, out);
}

const ms_packing ms_packing_awq = {.make = make_awq,
                                   .call = call_awq,
                                   .adapter_dtype = ms_packed_unseen,
                                   .is_half = true,
                                   .scales_last = true};

/* ---- quantized bitsandbytes ---- */

/* bitsandbytes 0.50 (nn/modules.py, functional.py): a weight is moved to the device and packed
 * there. */

enum { BLOCK = 64, OUTER_BLOCK = 256, CODES = 16, OUTER_CODES = 256 };

static uint64_t blocks_of(uint64_t count, uint64_t block)
{
    return count / block + (count % block != 0);
}

static ms_tensor temporary(ms_tape *tape, uint64_t count, ms_dtype dtype)
{
    return ms_empty(tape, MS_SHAPE(ms_dim_number(&tape->trace->symbols, count)), dtype);
}

/* What the weight's handle will be on. */
static ms_tensor packed_storage(ms_tape *tape, uint64_t bytes)
{
    tape->new_category = MS_CATEGORY_WEIGHT;
    ms_tensor packed = temporary(tape, bytes, MS_DTYPE_U8);
    tape->new_category = MS_CATEGORY_TEMPORARY;
    return packed;
}

/* ---- 4 bits ---- */

/* The table of values: made as a tensor, then divided by its largest. */
static void keep_code(ms_model *model)
{
    ms_tape *tape = model->tape;
    ms_packed_part(model, "code", CODES, MS_DTYPE_F32);
    ms_tensor absolute = temporary(tape, CODES, MS_DTYPE_F32);
    ms_transient(tape, ms_dtype_bytes(MS_DTYPE_F32), MS_DTYPE_F32);
    ms_consume(tape, absolute);
}

/* Scales less their mean, in 8 bits with scales of their own; the plain ones go. */
static void nest(ms_model *model, ms_tensor plain, uint64_t blocks)
{
    ms_tape *tape = model->tape;
    ms_packed_part(model, "offset", 1, MS_DTYPE_F32);
    ms_tensor centred = temporary(tape, blocks, MS_DTYPE_F32);
    if (!model->dynamic_code) /* bitsandbytes keeps it for all */
        model->dynamic_code = ms_packed_part(model, "dynamic code", OUTER_CODES, MS_DTYPE_F32);
    ms_packed_part(model, "outer absmax", blocks_of(blocks, OUTER_BLOCK), MS_DTYPE_F32);
    ms_packed_part(model, "absmax", blocks, MS_DTYPE_U8);
    ms_packed_part(model, "outer code", OUTER_CODES, MS_DTYPE_F32);
    ms_consume(tape, centred);
    ms_release(tape, plain);
}

static void make_4bit(ms_model *model, struct ms_quantized *q, uint32_t scope)
{
    q->weight = ms_parameter_new(model, scope, "weight", MS_SHAPE(q->out, q->in));
    if (ms_idle(model->tape))
        return;
    uint64_t count = ms_elements(&ms_info(model->tape, q->weight)->shape);
    q->scale_count = blocks_of(count, BLOCK);
    ms_tensor absmax = ms_packed_part(model, "absmax", q->scale_count, MS_DTYPE_F32);
    uint64_t size = ms_dtype_bytes(ms_quantization_storage(&model->run->quantization));
    ms_tensor packed = packed_storage(model->tape, (count + 1) / (2 * size) * size);
    keep_code(model);
    if (model->run->quantization.is_double)
        nest(model, absmax, q->scale_count);
    ms_packed_swap(model, q->weight, packed);
}

/* Linear4bit: computes in the quantisation's type; the bias goes over to that for good. */
static ms_tensor call_4bit(ms_model *model, const struct ms_quantized *q,
                           const ms_linear_module *module, ms_tensor x)
{
    ms_tape *tape = model->tape;
    ms_dtype dtype = (ms_dtype)ms_info(tape, x)->dtype;
    const ms_packed_weight weight = {.out = q->out,
                                     .in = q->in,
                                     .scales = q->scale_count,
                                     .is_double = model->run->quantization.is_double,
                                     .dtype = model->run->dtype};
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *input = ms_argument(&f, x);
    if (tape->has_own_linear)
        ms_assign(&f, input, ms_heard_input(tape, *input));
    ms_assign(&f, input, ms_to(tape, *input, model->run->quantization.compute_dtype));
    ms_module_cast(model, module->bias, model->run->quantization.compute_dtype);
    ms_tensor product = ms_matmul_4bit(tape, *input, &weight, module->bias);
    ms_tensor *result = ms_local(&f, ms_to(tape, product, dtype));
    return ms_locals_end(&f, result);
}

static ms_dtype compute_dtype(const ms_model *model)
{
    return model->run->quantization.compute_dtype;
}

const ms_packing ms_packing_4bit = {
    .make = make_4bit, .call = call_4bit, .adapter_dtype = compute_dtype, .clones_result = true};

/* ---- 8 bits ---- */

/* Int8Params: from fp16, with a scale for each row. */
static void make_8bit(ms_model *model, struct ms_quantized *q, uint32_t scope)
{
    q->weight = ms_parameter_of(model, scope, "weight", MS_SHAPE(q->out, q->in), MS_DTYPE_F16);
    if (ms_idle(model->tape))
        return;
    ms_packed_part(model, "scales", q->out.value, MS_DTYPE_F32);
    uint64_t count = ms_elements(&ms_info(model->tape, q->weight)->shape);
    ms_packed_swap(model, q->weight, packed_storage(model->tape, count));
}

/* Linear8bitLt: the bias takes the type of what comes in, for good. */
static ms_tensor call_8bit(ms_model *model, const struct ms_quantized *q,
                           const ms_linear_module *module, ms_tensor x)
{
    ms_tape *tape = model->tape;
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *input = ms_argument(&f, x);
    ms_module_cast(model, module->bias, (ms_dtype)ms_info(tape, x)->dtype);
    ms_tensor *result = ms_local(&f, ms_matmul_8bit(tape, *input, q->out));
    return ms_locals_end(&f, result);
}

const ms_packing ms_packing_8bit = {
    .make = make_8bit, .call = call_8bit, .adapter_dtype = ms_packed_unseen};

/* ---- quantized ---- */

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

/* ---- quantized fp8 ---- */

/* Layers and experts in fp8 (transformers 5.23, integrations/finegrained_fp8.py: FP8Linear,
 * FP8Experts), loaded as stored, as for DeepSeek-V3. */

static uint64_t quantized_fp8_blocks_of(uint64_t count)
{
    return count / MS_FP8_BLOCK + (count % MS_FP8_BLOCK != 0);
}

static void make_fp8(ms_model *model, struct ms_quantized *q, uint32_t scope)
{
    q->weight = ms_packed_weight_new(model, MS_SHAPE(q->out, q->in), scope, "weight",
                                     q->out.value * q->in.value);
    ms_packed_part(model, "scales",
                   quantized_fp8_blocks_of(q->out.value) * quantized_fp8_blocks_of(q->in.value),
                   MS_DTYPE_F32);
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
    uint64_t down = is_pair && quantized_fp8_blocks_of(out) < 2 ? 2 : quantized_fp8_blocks_of(out);
    uint32_t previous = ms_scope_enter(model->tape, scope);
    ms_tensor weights = ms_packed_weight_new(model, shape, scope, name, ms_elements(&shape));
    ms_packed_part(model, "scales", count * down * quantized_fp8_blocks_of(in), MS_DTYPE_F32);
    model->tape->scope = previous;
    return weights;
}
