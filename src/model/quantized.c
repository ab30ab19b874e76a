/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/quantized.h"

#include "ops/ops.h"
#include "tape/engine.h"

/* bitsandbytes/functional.py, 0.50 */
enum { BLOCK = 64, OUTER_BLOCK = 256, CODES = 16, OUTER_CODES = 256 };

static uint64_t blocks_of(uint64_t count, uint64_t block)
{
    return count / block + (count % block != 0);
}

static ms_dim number(ms_tape *tape, uint64_t value)
{
    return ms_dim_number(&tape->trace->symbols, value);
}

/* A tensor that stays with the weight. */
static ms_tensor keep(ms_model *model, const char *name, uint64_t count, ms_dtype dtype)
{
    ms_tape *tape = model->tape;
    tape->new_category = MS_CATEGORY_WEIGHT;
    ms_tensor tensor = ms_empty(tape, MS_SHAPE(number(tape, count)), dtype);
    tape->new_category = MS_CATEGORY_TEMPORARY;
    ms_retain(tape, tensor);
    if (tensor)
        ms_name_storage(tape, tensor, name, MS_CATEGORY_WEIGHT);
    return tensor;
}

static ms_tensor temporary(ms_tape *tape, uint64_t count, ms_dtype dtype)
{
    return ms_empty(tape, MS_SHAPE(number(tape, count)), dtype);
}

/* The table of values: made as a tensor, then divided by its largest. */
static void keep_code(ms_model *model, struct ms_quantized *q)
{
    ms_tape *tape = model->tape;
    q->code = keep(model, "code", CODES, MS_DTYPE_F32);
    ms_tensor absolute = temporary(tape, CODES, MS_DTYPE_F32);
    ms_transient(tape, ms_dtype_bytes(MS_DTYPE_F32), MS_DTYPE_F32);
    ms_consume(tape, absolute);
}

/* Scales less their mean, in 8 bits with scales of their own; the plain ones go. */
static void nest(ms_model *model, struct ms_quantized *q, ms_tensor plain, uint64_t blocks)
{
    ms_tape *tape = model->tape;
    q->offset = keep(model, "offset", 1, MS_DTYPE_F32);
    ms_tensor centred = temporary(tape, blocks, MS_DTYPE_F32);
    if (!model->dynamic_code) /* bitsandbytes keeps it for all */
        model->dynamic_code = keep(model, "dynamic code", OUTER_CODES, MS_DTYPE_F32);
    q->outer_absmax = keep(model, "outer absmax", blocks_of(blocks, OUTER_BLOCK), MS_DTYPE_F32);
    q->absmax = keep(model, "absmax", blocks, MS_DTYPE_U8);
    q->outer_code = keep(model, "outer code", OUTER_CODES, MS_DTYPE_F32);
    ms_consume(tape, centred);
    ms_release(tape, plain);
}

/* The weight's handle gets the packed storage, and keeps its shape. */
static void pack(ms_model *model, struct ms_quantized *q, ms_tensor weight)
{
    ms_tape *tape = model->tape;
    const ms_storage from = tape->trace->storages.items[ms_info(tape, weight)->storage];
    uint64_t count = ms_elements(&q->shape), blocks = q->blocks = blocks_of(count, BLOCK);
    ms_tensor absmax = keep(model, "absmax", blocks, MS_DTYPE_F32);
    tape->new_category = MS_CATEGORY_WEIGHT;
    ms_tensor packed = temporary(tape, (count + 1) / 2, MS_DTYPE_U8);
    tape->new_category = MS_CATEGORY_TEMPORARY;
    keep_code(model, q);
    if (model->run->quantization.is_double)
        nest(model, q, absmax, blocks);
    else
        q->absmax = absmax;
    if (!packed)
        return;
    ms_storage_swap(tape, weight, packed);
    ms_storage *to = &tape->trace->storages.items[ms_info(tape, weight)->storage];
    to->name = from.name;
    to->scope = from.scope;
    ms_consume(tape, packed);
}

struct ms_quantized *ms_quantize(ms_model *model, uint32_t scope, ms_tensor weight)
{
    ms_tape *tape = model->tape;
    struct ms_quantized *q = ms_arena_array(model->arena, struct ms_quantized, 1);
    if (!q || ms_idle(tape))
        return q;
    q->shape = ms_info(tape, weight)->shape;
    uint32_t previous = ms_scope_enter(tape, scope);
    pack(model, q, weight);
    tape->scope = previous;
    return q;
}

/* The bias of a packed weight is brought to the type that is computed in when it is first used. */
static bool stands_by_packed(const ms_model *model, const ms_parameter *parameter)
{
    const ms_leaf_module *leaf = ms_model_leaf(model, parameter->scope);
    return leaf && leaf->quantized && leaf->bias == parameter->tensor;
}

void ms_upcast(ms_model *model)
{
    ms_tape *tape = model->tape;
    for (uint32_t i = 0; i < tape->parameters.count; i++) {
        ms_tensor tensor = tape->parameters.items[i].tensor;
        ms_dtype dtype = (ms_dtype)ms_info(tape, tensor)->dtype;
        if (stands_by_packed(model, &tape->parameters.items[i]))
            ms_module_cast(model, tensor, model->run->quantization.compute_dtype);
        else if (dtype == MS_DTYPE_BF16 || dtype == MS_DTYPE_F16)
            ms_module_cast(model, tensor, MS_DTYPE_F32);
    }
    ms_trace_event(tape, MS_EVENT_EMPTY_CACHE, 0);
}

/* ---- running ---- */

ms_tensor ms_quantized_call(ms_model *model, const struct ms_quantized *quantized,
                            const ms_linear_module *module, ms_tensor x)
{
    ms_tape *tape = model->tape;
    if (ms_idle(tape) || !x)
        return 0;
    ms_dtype dtype = (ms_dtype)ms_info(tape, x)->dtype;
    const ms_packed_weight weight = {.out = quantized->shape.dims[0],
                                     .in = quantized->shape.dims[1],
                                     .scales = quantized->blocks,
                                     .is_double = model->run->quantization.is_double,
                                     .dtype = model->run->dtype};
    ms_frame f = ms_frame_begin(tape);
    ms_tensor *input = ms_argument(&f, x);
    ms_assign(&f, input, ms_to(tape, *input, model->run->quantization.compute_dtype));
    ms_tensor product = ms_matmul_4bit(tape, *input, &weight, module->bias);
    ms_tensor *result = ms_local(&f, ms_to(tape, product, dtype));
    return ms_frame_end(&f, result);
}
