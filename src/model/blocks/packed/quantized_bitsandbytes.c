/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * bitsandbytes 0.50 (nn/modules.py, functional.py): a weight is moved to the device and packed
 * there.
 */
#include "model/blocks/packed/packing.h"
#include "torch/ops/ops.h"

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
