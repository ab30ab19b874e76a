/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/dense/gemma3n/altup.h"

#include "input/config/model/model_config.h"
#include "model/dense/gemma4/attention.h"
#include "torch/ops/einsum.h"
#include "torch/ops/ops.h"
#include "torch/ops/parts.h"

void ms_altup_new(ms_model *model, ms_gemma3n_altup *a, uint32_t parent)
{
    ms_tape *tape = model->tape;
    ms_symbols *s = &tape->trace->symbols;
    const ms_gemma3n *g = ms_gemma3n_of(model);
    ms_dim streams = g->streams, coefficients = ms_dim_mul(s, streams, streams);
    a->scope = ms_scope_add(tape, parent, "altup", MS_NONE);
    a->scale = ms_parameter_new(model, a->scope, "correct_output_scale", MS_SHAPE(model->hidden));
    a->correction = ms_linear_new(model, a->scope, "correction_coefs", streams, streams, false);
    a->prediction =
        ms_linear_new(model, a->scope, "prediction_coefs", streams, coefficients, false);
    a->router = ms_linear_new(model, a->scope, "modality_router", model->hidden, streams, false);
    a->router_norm = ms_norm_new(model, a->scope, "router_norm", model->hidden, false);
    uint32_t previous = ms_scope_enter(tape, a->scope);
    a->router_scale = ms_buffer_new(model, (ms_shape){0}, model->run->dtype, "router_input_scale");
    tape->scope = previous;
}

static ms_dtype type_of(ms_tape *tape, ms_tensor x)
{
    return ms_idle(tape) || !x ? MS_DTYPE_F32 : (ms_dtype)ms_info(tape, x)->dtype;
}

/* tanh(router(norm(x) * scale)), in fp32, in the type of x: [B, S, N] */
static ms_tensor route(ms_model *model, const ms_gemma3n_altup *a, ms_tensor x)
{
    ms_tape *tape = model->tape;
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *whole = ms_argument(&f, x);
    ms_dtype dtype = type_of(tape, x);
    ms_tensor *inputs =
        ms_local(&f, ms_mul(tape, ms_gemma4_norm(model, &a->router_norm, *whole), a->router_scale));
    ms_tensor *routed = ms_local(&f, ms_linear_call(model, &a->router, *inputs));
    ms_tensor *out =
        ms_local(&f, ms_to(tape, ms_tanh(tape, ms_to(tape, *routed, MS_DTYPE_F32)), dtype));
    return ms_locals_end(&f, out);
}

/* coefficients of [B, S, N], as [B, S, N, N] with the last two exchanged */
static ms_tensor as_matrices(ms_model *model, ms_tensor coefficients)
{
    ms_tape *tape = model->tape;
    ms_dim streams = ms_gemma3n_of(model)->streams;
    ms_tensor square =
        ms_reshape(tape, coefficients, MS_SHAPE(model->batch, model->seq, streams, streams));
    return ms_transpose(tape, square, 2, 3);
}

/* The view of a product [B, S, H, N] as [N, B, S, H]. */
static ms_strided streams_of(ms_tape *tape, ms_tensor product)
{
    static const uint32_t order[] = {3, 0, 1, 2};
    ms_strided view = {0};
    if (ms_idle(tape) || !product)
        return view;
    const ms_tensor_info info = *ms_info(tape, product);
    view.shape.rank = info.shape.rank;
    for (uint32_t i = 0; i < info.shape.rank; i++) {
        view.shape.dims[i] = info.shape.dims[order[i]];
        view.strides[i] = info.strides[order[i]];
    }
    return view;
}

ms_tensor ms_altup_predict(ms_model *model, const ms_gemma3n_altup *a, ms_tensor x)
{
    static const uint32_t order[] = {1, 2, 3, 0};
    ms_tape *tape = model->tape;
    uint32_t previous = ms_scope_enter(tape, a->scope);
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *streams = ms_argument(&f, x);
    ms_dtype dtype = type_of(tape, x);
    ms_tensor *modalities = ms_local(&f, route(model, a, ms_select(tape, *streams, 0)));
    ms_tensor *all =
        ms_local(&f, as_matrices(model, ms_linear_call(model, &a->prediction, *modalities)));
    ms_tensor turned = ms_idle(tape) ? 0 : ms_permute(tape, *streams, order);
    ms_tensor product = ms_matmul(tape, turned, *all);
    ms_strided view = streams_of(tape, product);
    ms_tensor *predictions = ms_local(&f, ms_add_to_part(tape, product, &view, *streams));
    ms_assign(&f, predictions, ms_part_of(tape, *predictions, &view));
    ms_tensor *out = ms_local(&f, ms_to(tape, ms_contiguous(tape, *predictions), dtype));
    ms_tensor result = ms_locals_end(&f, out);
    tape->scope = previous;
    return result;
}

/* correction(modalities) + 1 as [N, B, S, 1]; in training the weight is clipped, which calls no
 * module. */
static ms_tensor correction(ms_model *model, ms_locals *f, const ms_gemma3n_altup *a,
                            ms_tensor modalities, ms_tensor *weight)
{
    ms_tape *tape = model->tape;
    ms_tensor made = 0;
    if (tape->is_evaluating || !model->config->clips_coefficients) {
        made = ms_linear_call(model, &a->correction, modalities);
    } else {
        ms_assign(f, weight, ms_clamp(tape, a->correction.weight, 2));
        made = ms_linear(tape, modalities, *weight, 0);
    }
    return ms_add_scalar(tape, made);
}

ms_tensor ms_altup_correct(ms_model *model, const ms_gemma3n_altup *a, ms_tensor predictions,
                           ms_tensor x)
{
    static const uint32_t order[] = {2, 0, 1};
    ms_tape *tape = model->tape;
    uint32_t previous = ms_scope_enter(tape, a->scope);
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *activated = ms_argument(&f, x);
    ms_dtype dtype = type_of(tape, x);
    ms_tensor *modalities = ms_local(&f, route(model, a, *activated));
    ms_tensor *innovation = ms_local(&f, ms_sub(tape, *activated, ms_select(tape, predictions, 0)));
    ms_assign(&f, innovation, ms_repeat_first(tape, *innovation, ms_gemma3n_of(model)->streams));
    ms_tensor *weight = ms_local(&f, 0);
    ms_tensor *all = ms_local(&f, 0);
    ms_assign(&f, all, correction(model, &f, a, *modalities, weight));
    if (!ms_idle(tape))
        ms_assign(&f, all, ms_unsqueeze(tape, ms_permute(tape, *all, order), 3));
    ms_tensor *corrected = ms_local(&f, ms_mul(tape, *innovation, *all));
    ms_assign(&f, corrected, ms_add_(tape, *corrected, predictions));
    ms_tensor *out = ms_local(&f, ms_to(tape, ms_contiguous(tape, *corrected), dtype));
    ms_tensor result = ms_locals_end(&f, out);
    tape->scope = previous;
    return result;
}
