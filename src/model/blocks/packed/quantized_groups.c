/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * GPTQ and AWQ as GPT-QModel 7.7 trains on them: weights are loaded packed in 32-bit words, along
 * the inputs for one and along the outputs for the other; scales and zeros are per group of inputs.
 */
#include "model/blocks/packed/packing.h"
#include "torch/ops/ops.h"

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
