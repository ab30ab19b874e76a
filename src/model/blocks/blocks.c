/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Calls of the shared modules.
 */
#include "model/blocks/blocks.h"

#include "input/config/model/model_config.h"
#include "torch/ops/liger/liger.h"
#include "torch/autograd/graph.h"
#include "model/blocks/host/host_modules.h"
#include "model/blocks/tensor_parallel.h"
#include "torch/ops/ops.h"
#include "torch/treatments/recompute.h"
#include "torch/treatments/offload.h"
#include "torch/treatments/tile.h"

static const ms_treatment *treatment_of(const ms_model *model, uint64_t layer)
{
    return &model->run->treatments.layers[layer];
}

static ms_tensor run_checkpoint(ms_model *model, const ms_region *region, ms_tensor hidden,
                                bool is_last)
{
    const ms_treatment *treatment = treatment_of(model, region->number);
    ms_checkpoint_options options = {.kept_ops = treatment->kept_ops,
                                     .kept_op_count = treatment->kept_count};
    if (treatment->input != MS_INPUT_OFFLOADED || !is_last)
        options.input_place = treatment->input;
    return ms_checkpoint_run_with(model->tape, region, &options, hidden);
}

/* Nothing runs behind the last layer that could hide its copies: what it saves stays. */
static ms_tensor run_treated(ms_model *model, const ms_region *region, ms_tensor hidden)
{
    const ms_treatment *treatment = treatment_of(model, region->number);
    bool is_last = region->number + 1 == model->config->num_layers;
    switch (treatment->kind) {
    case MS_TREAT_CHECKPOINT:
    case MS_TREAT_SELECTIVE:
        return run_checkpoint(model, region, hidden, is_last);
    case MS_TREAT_OFFLOAD:
        if (!is_last)
            return ms_offload_run(model->tape, region, hidden, treatment->share);
        break;
    case MS_TREAT_KEEP:
        if (!is_last && model->run->offload_tags.count)
            return ms_offload_run_tags(model->tape, region, hidden, &model->run->offload_tags);
        break;
    case MS_TREAT_KIND_COUNT:
        break;
    }
    return region->run(model->tape, region->context, region->number, hidden);
}

ms_tensor ms_layer_call(ms_model *model, const ms_region *region, ms_tensor hidden)
{
    uint32_t scope = ms_layer_scope(model->tape, (uint32_t)region->number);
    ms_module_begin(model->tape, scope);
    ms_tensor out = run_treated(model, region, hidden);
    ms_module_end(model->tape, scope);
    return out;
}

ms_tensor ms_mlp_call(ms_model *model, const ms_region *region, ms_tensor hidden)
{
    const ms_treatment *treatment = treatment_of(model, region->number);
    return ms_part_call(model->tape, treatment, MS_MODULE_MLP, region, hidden);
}

static bool has_checkpoints(const ms_model *model)
{
    for (uint64_t i = 0; i < model->config->num_layers; i++) {
        ms_treatment_kind kind = treatment_of(model, i)->kind;
        if (kind == MS_TREAT_CHECKPOINT || kind == MS_TREAT_SELECTIVE)
            return true;
    }
    return false;
}

bool ms_inputs_require_grad(const ms_model *model)
{
    return model->run->adapter && has_checkpoints(model);
}

ms_tensor ms_input_embedding(ms_model *model, uint32_t scope, ms_tensor weight, ms_tensor scale,
                             ms_tensor ids)
{
    uint32_t previous = ms_scope_enter(model->tape, scope);
    ms_tensor out = ms_table_call(model, weight, ids);
    if (scale) /* embed_scale.to(weight.dtype) */
        out = ms_mul(model->tape, out,
                     ms_to(model->tape, scale, (ms_dtype)ms_info(model->tape, weight)->dtype));
    if (ms_inputs_require_grad(model))
        ms_require_grad(model->tape, out);
    model->tape->scope = previous;
    return out;
}

/* ---- norms ---- */

static ms_tensor call_norm(ms_model *model, const ms_norm_module *module, ms_tensor x,
                           ms_region_fn run)
{
    const ms_scope *scopes = model->tape->trace->scopes.items;
    uint32_t parent = scopes[module->scope].parent;
    uint32_t layer = ms_scope_layer(model->tape, module->scope);
    const ms_region region = {.run = run, .context = model, .number = (uintptr_t)module};
    if (layer == MS_NONE || ms_layer_scope(model->tape, layer) != parent)
        return run(model->tape, model, region.number, x);
    return ms_part_call(model->tape, treatment_of(model, layer), MS_MODULE_NORM, &region, x);
}

ms_tensor ms_norm_call(ms_model *model, const ms_norm_module *module, ms_tensor x, ms_region_fn run)
{
    bool outer = ms_norm_begin(model, &x);
    const ms_fetched fetched = ms_host_fetch_pair(model, module->weight, module->bias);
    ms_tensor out = call_norm(model, module, x, run);
    ms_host_drop(model, &fetched);
    ms_norm_end(model, outer);
    return out;
}

const ms_norm_module *ms_norm_of(uint64_t number)
{
    return (const ms_norm_module *)(uintptr_t)number;
}

static ms_tensor run_layer_norm(ms_tape *tape, void *context, uint64_t number, ms_tensor x)
{
    const ms_norm_module *module = ms_norm_of(number);
    (void)context;
    uint32_t previous = ms_scope_enter(tape, module->scope);
    ms_tensor out = ms_layer_norm(tape, x, module->weight, module->bias);
    tape->scope = previous;
    return out;
}

ms_tensor ms_layer_norm_call(ms_model *model, const ms_norm_module *module, ms_tensor x)
{
    return ms_norm_call(model, module, x, run_layer_norm);
}

/* Liger's kernel, where it replaces this norm; `x` is not consumed otherwise. */
static bool fused_norm(ms_model *model, const ms_norm_module *module, ms_tensor x, ms_tensor *out)
{
    const ms_liger_family *family = model->run->liger_family;
    if (!(model->run->liger & MS_LIGER_RMS_NORM) || !(family->norms & 1U << module->place))
        return false;
    uint32_t previous = ms_scope_enter(model->tape, module->scope);
    bool copies = family->copying_norms & 1U << module->place;
    *out = ms_liger_rms_norm(model->tape, x, module->weight, copies);
    model->tape->scope = previous;
    return true;
}

/* Where the weight is applied: to the result in the input's type, or in fp32 before that, as it is
 * or itself in fp32. */
typedef enum weighing { WEIGHS_CAST, WEIGHS_IN_FP32, WEIGHS_WIDENED } weighing;

static ms_tensor rms_norm(ms_model *model, const ms_norm_module *module, ms_tensor x, weighing how)
{
    ms_tape *tape = model->tape;
    if (ms_idle(tape) || !x) {
        ms_consume(tape, x);
        return 0;
    }
    ms_tensor fused;
    if (fused_norm(model, module, x, &fused))
        return fused;
    uint32_t previous = ms_scope_enter(tape, module->scope);
    ms_locals f = ms_locals_begin(tape);
    ms_dtype input_dtype = (ms_dtype)ms_info(tape, x)->dtype;
    ms_tensor *hidden = ms_argument(&f, x);
    ms_assign(&f, hidden, ms_to(tape, *hidden, MS_DTYPE_F32));
    ms_tensor *variance = ms_local(&f, ms_mean_last(tape, ms_pow(tape, *hidden)));
    ms_tensor scale = ms_rsqrt(tape, ms_add_scalar(tape, *variance));
    ms_assign(&f, hidden, ms_mul(tape, *hidden, scale));
    ms_tensor weight =
        how == WEIGHS_WIDENED ? ms_to(tape, module->weight, MS_DTYPE_F32) : module->weight;
    ms_tensor out = how == WEIGHS_CAST ? ms_mul(tape, weight, ms_to(tape, *hidden, input_dtype))
                                       : ms_to(tape, ms_mul(tape, weight, *hidden), input_dtype);
    ms_retain(tape, out);
    ms_locals_end(&f, NULL);
    tape->scope = previous;
    return ms_unown(tape, out);
}

static ms_tensor run_rms_norm(ms_tape *tape, void *context, uint64_t number, ms_tensor x)
{
    (void)tape;
    return rms_norm(context, ms_norm_of(number), x, WEIGHS_CAST);
}

ms_tensor ms_rms_norm_call(ms_model *model, const ms_norm_module *module, ms_tensor x)
{
    return ms_norm_call(model, module, x, run_rms_norm);
}

static ms_tensor run_fp32_rms_norm(ms_tape *tape, void *context, uint64_t number, ms_tensor x)
{
    (void)tape;
    return rms_norm(context, ms_norm_of(number), x, WEIGHS_IN_FP32);
}

ms_tensor ms_fp32_rms_norm_call(ms_model *model, const ms_norm_module *module, ms_tensor x)
{
    return ms_norm_call(model, module, x, run_fp32_rms_norm);
}

static ms_tensor run_widened_rms_norm(ms_tape *tape, void *context, uint64_t number, ms_tensor x)
{
    (void)tape;
    return rms_norm(context, ms_norm_of(number), x, WEIGHS_WIDENED);
}

ms_tensor ms_widened_rms_norm_call(ms_model *model, const ms_norm_module *module, ms_tensor x)
{
    return ms_norm_call(model, module, x, run_widened_rms_norm);
}

/* x * rsqrt((x ** 2).mean() + eps) */
static ms_tensor normed(ms_tape *tape, ms_tensor x)
{
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *hidden = ms_local(&f, x);
    ms_tensor variance = ms_mean_last(tape, ms_pow(tape, *hidden));
    ms_tensor scale = ms_rsqrt(tape, ms_add_scalar(tape, variance));
    ms_tensor *out = ms_local(&f, ms_mul(tape, *hidden, scale));
    return ms_locals_end(&f, out);
}

/* x * rsqrt(mean(x ** 2) + eps) in fp32, in the type of x. */
static ms_tensor unit_norm(ms_model *model, ms_tensor x)
{
    ms_tape *tape = model->tape;
    if (ms_idle(tape) || !x)
        return 0;
    ms_dtype dtype = (ms_dtype)ms_info(tape, x)->dtype;
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *input = ms_argument(&f, x);
    ms_tensor out = ms_to(tape, normed(tape, ms_to(tape, *input, MS_DTYPE_F32)), dtype);
    ms_retain(tape, out);
    ms_locals_end(&f, NULL);
    return ms_unown(tape, out);
}

static ms_tensor run_rms_norm_weight_last(ms_tape *tape, void *context, uint64_t number,
                                          ms_tensor x)
{
    ms_model *model = context;
    const ms_norm_module *module = ms_norm_of(number);
    ms_tensor fused;
    if (ms_idle(tape) || !x) {
        ms_consume(tape, x);
        return 0;
    }
    if (fused_norm(model, module, x, &fused))
        return fused;
    uint32_t previous = ms_scope_enter(tape, module->scope);
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *hidden = ms_argument(&f, x);
    ms_tensor *output = ms_local(&f, unit_norm(model, *hidden));
    ms_assign(&f, output, ms_mul(tape, *output, module->weight));
    ms_tensor result = ms_locals_end(&f, output);
    tape->scope = previous;
    return result;
}

ms_tensor ms_rms_norm_weight_last_call(ms_model *model, const ms_norm_module *module, ms_tensor x)
{
    return ms_norm_call(model, module, x, run_rms_norm_weight_last);
}

static ms_tensor run_centered_rms_norm(ms_tape *tape, void *context, uint64_t number, ms_tensor x)
{
    ms_model *model = context;
    const ms_norm_module *module = ms_norm_of(number);
    if (ms_idle(tape) || !x) {
        ms_consume(tape, x);
        return 0;
    }
    ms_tensor fused;
    if (fused_norm(model, module, x, &fused))
        return fused;
    uint32_t previous = ms_scope_enter(tape, module->scope);
    ms_locals f = ms_locals_begin(tape);
    ms_dtype input_dtype = (ms_dtype)ms_info(tape, x)->dtype;
    ms_tensor *hidden = ms_argument(&f, x);
    ms_tensor *output = ms_local(&f, normed(tape, ms_to(tape, *hidden, MS_DTYPE_F32)));
    ms_tensor scale = ms_add_scalar(tape, ms_to(tape, module->weight, MS_DTYPE_F32));
    ms_assign(&f, output, ms_mul(tape, *output, scale));
    ms_assign(&f, output, ms_to(tape, *output, input_dtype));
    ms_tensor result = ms_locals_end(&f, output);
    tape->scope = previous;
    return result;
}

ms_tensor ms_centered_rms_norm_call(ms_model *model, const ms_norm_module *module, ms_tensor x)
{
    return ms_norm_call(model, module, x, run_centered_rms_norm);
}

static ms_tensor run_half_cast_rms_norm(ms_tape *tape, void *context, uint64_t number, ms_tensor x)
{
    const ms_norm_module *module = ms_norm_of(number);
    (void)context;
    if (ms_idle(tape) || !x) {
        ms_consume(tape, x);
        return 0;
    }
    uint32_t previous = ms_scope_enter(tape, module->scope);
    ms_dtype dtype = (ms_dtype)ms_info(tape, module->weight)->dtype;
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *hidden = ms_argument(&f, x);
    ms_tensor square = ms_pow(tape, ms_to(tape, *hidden, MS_DTYPE_F32));
    ms_tensor *variance = ms_local(&f, ms_mean_last(tape, square));
    ms_tensor scale = ms_rsqrt(tape, ms_add_scalar(tape, *variance));
    ms_assign(&f, hidden, ms_mul(tape, *hidden, scale));
    if (ms_dtype_bytes(dtype) == 2)
        ms_assign(&f, hidden, ms_idle(tape) ? 0 : ms_to(tape, *hidden, dtype));
    ms_tensor out = ms_mul(tape, module->weight, *hidden);
    ms_retain(tape, out);
    ms_locals_end(&f, NULL);
    tape->scope = previous;
    return ms_unown(tape, out);
}

ms_tensor ms_half_cast_rms_norm_call(ms_model *model, const ms_norm_module *module, ms_tensor x)
{
    return ms_norm_call(model, module, x, run_half_cast_rms_norm);
}

static ms_tensor run_fp32_layer_norm(ms_tape *tape, void *context, uint64_t number, ms_tensor x)
{
    const ms_norm_module *module = ms_norm_of(number);
    (void)context;
    if (ms_idle(tape) || !x) {
        ms_consume(tape, x);
        return 0;
    }
    uint32_t previous = ms_scope_enter(tape, module->scope);
    ms_locals f = ms_locals_begin(tape);
    ms_dtype input_dtype = (ms_dtype)ms_info(tape, x)->dtype;
    ms_tensor *hidden = ms_argument(&f, x);
    ms_assign(&f, hidden, ms_to(tape, *hidden, MS_DTYPE_F32));
    ms_tensor *mean = ms_local(&f, ms_mean_last(tape, *hidden));
    ms_tensor square = ms_pow(tape, ms_sub(tape, *hidden, *mean));
    ms_tensor *variance = ms_local(&f, ms_mean_last(tape, square));
    ms_tensor centered = ms_sub(tape, *hidden, *mean);
    ms_tensor scale = ms_rsqrt(tape, ms_add_scalar(tape, *variance));
    ms_assign(&f, hidden, ms_mul(tape, centered, scale));
    ms_assign(&f, hidden, ms_mul(tape, ms_to(tape, module->weight, MS_DTYPE_F32), *hidden));
    ms_tensor out = ms_to(tape, *hidden, input_dtype);
    ms_retain(tape, out);
    ms_locals_end(&f, NULL);
    tape->scope = previous;
    return ms_unown(tape, out);
}

ms_tensor ms_fp32_layer_norm_call(ms_model *model, const ms_norm_module *module, ms_tensor x)
{
    return ms_norm_call(model, module, x, run_fp32_layer_norm);
}

/* ---- activations ---- */

void ms_soft_cap(ms_model *model, ms_locals *f, ms_tensor *x)
{
    ms_assign(f, x, ms_div_scalar(model->tape, *x));
    ms_assign(f, x, ms_tanh(model->tape, *x));
    ms_assign(f, x, ms_mul_scalar(model->tape, *x));
}

ms_tensor ms_activation_call(ms_model *model, ms_tensor x)
{
    return ms_activate(model->tape, model->config->activation, x);
}

ms_tensor ms_activate(ms_tape *tape, ms_activation activation, ms_tensor x)
{
    ms_retain(tape, x);
    ms_tensor out = 0;
    switch (activation) {
    case MS_ACTIVATION_SILU:
        out = ms_silu(tape, x);
        break;
    case MS_ACTIVATION_GELU:
    case MS_ACTIVATION_GELU_TANH:
        out = ms_gelu(tape, x);
        break;
    case MS_ACTIVATION_GELU_NEW:
        out = ms_gelu_new(tape, x);
        break;
    case MS_ACTIVATION_GELU_FAST:
        out = ms_gelu_fast(tape, x);
        break;
    case MS_ACTIVATION_QUICK_GELU:
        out = ms_quick_gelu(tape, x);
        break;
    case MS_ACTIVATION_RELU2:
        out = ms_relu2(tape, x);
        break;
    case MS_ACTIVATION_RELU:
    case MS_ACTIVATION_COUNT:
        out = ms_relu(tape, x);
        break;
    }
    ms_consume(tape, ms_unown(tape, x));
    return out;
}

/* ---- layers that return their probabilities ---- */

void ms_weights_hand_out(ms_tape *tape, ms_tensor weights, ms_tensor *kept)
{
    *kept = ms_hooks_saving(tape) != MS_SAVING_AGAIN && !tape->stopped ? weights : 0;
    ms_retain(tape, *kept);
}

void ms_layers_with_weights(ms_model *model, ms_locals *f, ms_tensor *hidden, ms_tensor *kept,
                            ms_tensor (*call)(ms_model *model, uint32_t number, ms_tensor hidden))
{
    ms_tape *tape = model->tape;
    ms_tensor *last = ms_local(f, 0), *weights = ms_local(f, 0);
    for (uint32_t i = 0; i < model->config->num_layers && tape->status == MS_OK; i++) {
        ms_assign(f, last, call(model, i, *hidden));
        ms_assign(f, weights, *kept);
        ms_release(tape, *kept);
        ms_assign(f, hidden, *last);
    }
}
