/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Running an adapted linear layer, operator by operator as in PEFT 0.21 (tuners/lora/layer.py,
 * lora/dora.py, ia3/layer.py).
 */
#include "model/blocks/adapted.h"

#include "torch/autograd/graph.h"
#include "model/blocks/adapter.h"

#include "model/blocks/packed/quantized.h"
#include "torch/ops/ops.h"

/* ---- DoRA: the magnitude of each row of the weight times its direction ---- */

/* W + scaling * (B A), to be measured row by row. */
static ms_tensor merged(ms_tape *tape, ms_tensor weight, ms_tensor product)
{
    return ms_add(tape, weight, ms_mul_scalar(tape, product));
}

ms_tensor ms_dora_magnitude(ms_model *model, uint32_t scope, ms_tensor weight,
                            const struct ms_adapted *adapted)
{
    ms_tape *tape = model->tape;
    if (ms_idle(tape))
        return 0;
    ms_dim rows = ms_info(tape, adapted->lora_b.weight)->shape.dims[0];
    bool had_grad = tape->grad_enabled;
    tape->grad_enabled = false;
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *product = ms_local(&f, ms_empty_like(tape, weight, model->run->dtype));
    if (!tape->is_meta) /* else the host multiplies */
        ms_workspace_use(tape, MS_PRODUCT_PLAIN);
    ms_local(&f, merged(tape, weight, *product));
    ms_tensor magnitude = ms_parameter_new(model, scope, "lora_magnitude_vector", MS_SHAPE(rows));
    ms_locals_end(&f, NULL);
    tape->grad_enabled = had_grad;
    return magnitude;
}

/* B A as PEFT computes it, by running an identity through both; the graph of the product holds what
 * they saved. */
static ms_tensor lora_weight(ms_model *model, const struct ms_adapted *adapted)
{
    ms_tape *tape = model->tape;
    ms_dim in = ms_info(tape, adapted->lora_a.weight)->shape.dims[1];
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *eye = ms_local(&f, ms_empty(tape, MS_SHAPE(in, in), model->run->adapter->dtype));
    ms_tensor down = ms_linear_call(model, &adapted->lora_a, *eye);
    ms_tensor up = ms_linear_call(model, &adapted->lora_b, down);
    ms_tensor *product = ms_local(&f, ms_transpose(tape, up, 0, 1));
    return ms_locals_end(&f, product);
}

/* The weight with a row for each output. PEFT makes a new parameter of the transposed one where it
 * is still the layer's own, and that has a gradient. */
static ms_tensor oriented(ms_tape *tape, const ms_leaf_module *leaf, ms_tensor weight)
{
    if (leaf->kind != MS_LEAF_CONV1D)
        return weight;
    ms_tensor turned = ms_transpose(tape, weight, 0, 1);
    if (weight == leaf->weight)
        ms_require_grad(tape, turned);
    return turned;
}

/* The norms of the rows of W + B A, detached. */
static ms_tensor weight_norms(ms_tape *tape, const ms_leaf_module *leaf, ms_tensor weight,
                              ms_tensor product)
{
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *rows = ms_local(&f, oriented(tape, leaf, weight));
    bool had_grad = tape->grad_enabled, is_saved = ms_needs_grad(tape, *rows);
    tape->grad_enabled = false;
    ms_tensor *sum = ms_local(&f, merged(tape, *rows, product));
    ms_tensor *norms = ms_local(&f, ms_norm_last(tape, *sum));
    tape->grad_enabled = had_grad;
    if (is_saved)
        ms_save_in_passing(tape, *sum);
    return ms_locals_end(&f, norms);
}

/* (scale - 1) * base(x) + scale * lora_B(lora_A(x)) * scaling, scale = magnitude / norms;
 * base_result 0: the base layer is recomputed, on what dropout left of x. */
static ms_tensor dora_delta(ms_model *model, const ms_leaf_module *leaf,
                            const ms_linear_module *module, ms_tensor x, ms_tensor base_result)
{
    ms_tape *tape = model->tape;
    if (ms_idle(tape))
        return 0;
    const struct ms_adapted *adapted = leaf->adapted;
    ms_dtype dtype = (ms_dtype)ms_info(tape, x)->dtype;
    ms_dim rows = ms_info(tape, adapted->magnitude)->shape.dims[0];
    ms_dim one = ms_dim_number(&tape->trace->symbols, 1);
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *input = ms_argument(&f, x);
    uint32_t first = tape->nodes.count;
    ms_tensor *product = ms_local(&f, lora_weight(model, adapted));
    ms_assign(&f, product, ms_to(tape, *product, dtype));
    uint32_t end = tape->nodes.count;
    ms_tensor *weight = ms_local(&f, ms_to(tape, module->weight, dtype));
    ms_tensor *norms = ms_local(&f, weight_norms(tape, leaf, *weight, *product));
    ms_tensor *scale =
        ms_local(&f, ms_view(tape, ms_div(tape, adapted->magnitude, *norms), MS_SHAPE(one, rows)));
    ms_tensor down = ms_linear_call(model, &adapted->lora_a, *input);
    ms_tensor *lora = ms_local(&f, ms_linear_call(model, &adapted->lora_b, down));
    ms_tensor *base = ms_local(&f, base_result);
    if (!base_result)
        ms_assign(&f, base, ms_linear(tape, *input, oriented(tape, leaf, *weight), 0));
    else if (module->bias)
        ms_assign(&f, base, ms_add(tape, *base, module->bias));
    ms_tensor turned = ms_mul(tape, ms_add_scalar(tape, *scale), *base);
    ms_tensor added = ms_mul_scalar(tape, ms_mul(tape, *scale, *lora));
    ms_tensor *delta = ms_local(&f, ms_add(tape, turned, added));
    ms_graph_forget(tape, first, end);
    return ms_locals_end(&f, delta);
}

static void add_dora(ms_model *model, const ms_leaf_module *leaf, const ms_linear_module *module,
                     ms_locals *f, ms_tensor x, ms_tensor *result)
{
    ms_tape *tape = model->tape;
    double dropout = model->run->adapter->dropout;
    ms_tensor dropped = ms_dropout(tape, x, dropout);
    ms_tensor delta = dora_delta(model, leaf, module, dropped, dropout > 0 ? 0 : *result);
    ms_assign(f, result, ms_add(tape, *result, delta));
}

/* ---- LoRA ---- */

/* lora_B(lora_A(dropout(x))) */
static ms_tensor lora_product(ms_model *model, const struct ms_adapted *adapted, ms_tensor x)
{
    ms_tensor dropped = ms_dropout(model->tape, x, model->run->adapter->dropout);
    ms_tensor down = ms_linear_call(model, &adapted->lora_a, dropped);
    return ms_linear_call(model, &adapted->lora_b, down);
}

/* The same times scaling. */
static ms_tensor lora_delta(ms_model *model, const struct ms_adapted *adapted, ms_tensor x)
{
    return ms_mul_scalar(model->tape, lora_product(model, adapted, x));
}

/* x in the type that the adapter's weights have as it runs, which ranks may gather in another. */
static ms_tensor as_adapter(ms_tape *tape, const struct ms_adapted *adapted, ms_tensor x)
{
    ms_tensor weight = adapted->scale ? adapted->scale : adapted->lora_a.weight;
    return ms_to(tape, x, (ms_dtype)ms_info(tape, weight)->dtype);
}

/* The adapter takes x in its own type; the sum goes back to the type of the base layer's result. */
static void add_adapter(ms_model *model, const ms_leaf_module *leaf, const ms_linear_module *module,
                        ms_locals *f, ms_tensor *x, ms_tensor *result)
{
    ms_tape *tape = model->tape;
    const struct ms_adapted *adapted = leaf->adapted;
    if (ms_idle(tape) || !*result)
        return;
    ms_dtype dtype = (ms_dtype)ms_info(tape, *result)->dtype;
    ms_assign(f, x, as_adapter(tape, adapted, *x));
    if (adapted->magnitude)
        add_dora(model, leaf, module, f, *x, result);
    else
        ms_assign(f, result, ms_add(tape, *result, lora_delta(model, adapted, *x)));
    if (!ms_idle(tape))
        ms_assign(f, result, ms_to(tape, *result, dtype));
}

/* On a quantised layer the result may be copied first, and under autocast nothing is cast by hand.
 */
static void add_to_quantized(ms_model *model, const ms_leaf_module *leaf,
                             const ms_linear_module *module, ms_locals *f, ms_tensor *x,
                             ms_tensor *result)
{
    ms_tape *tape = model->tape;
    const struct ms_adapted *adapted = leaf->adapted;
    if (leaf->quantized->packing->clones_result)
        ms_assign(f, result, ms_clone(tape, *result));
    if (ms_idle(tape) || !*result)
        return;
    bool converts = !tape->has_autocast;
    ms_dtype dtype = (ms_dtype)ms_info(tape, *result)->dtype;
    if (converts)
        ms_assign(f, x, as_adapter(tape, adapted, *x));
    if (adapted->magnitude) {
        add_dora(model, leaf, module, f, *x, result);
        if (converts && !ms_idle(tape))
            ms_assign(f, result, ms_to(tape, *result, dtype));
        return;
    }
    bool scales_last = leaf->quantized->packing->scales_last;
    ms_tensor *output = ms_local(f, scales_last ? lora_product(model, adapted, *x)
                                                : lora_delta(model, adapted, *x));
    if (converts && !ms_idle(tape))
        ms_assign(f, output, ms_to(tape, *output, dtype));
    if (scales_last)
        ms_assign(f, output, ms_mul_scalar(tape, *output));
    ms_assign(f, result, ms_add(tape, *result, *output));
}

/* ---- IA3 ---- */

/* (x * l).to(dtype) */
static ms_tensor scaled(ms_tape *tape, ms_tensor x, ms_tensor scale, ms_dtype dtype)
{
    if (ms_idle(tape) || !x)
        return 0;
    return ms_to(tape, ms_mul(tape, x, scale), dtype);
}

/* 1 * l.flatten() */
static ms_tensor ia3_scaling(ms_tape *tape, ms_tensor vector)
{
    if (ms_idle(tape))
        return 0;
    const ms_shape *shape = &ms_info(tape, vector)->shape;
    ms_dim width = shape->dims[0].value == 1 ? shape->dims[1] : shape->dims[0];
    return ms_mul_scalar(tape, ms_view(tape, vector, MS_SHAPE(width)));
}

/* x * l goes into the layer, or its result is scaled. */
static void run_ia3(ms_model *model, const ms_leaf_module *leaf, const ms_linear_module *module,
                    ms_linear_fn linear, ms_locals *f, ms_tensor *input, ms_tensor *result)
{
    const struct ms_adapted *adapted = leaf->adapted;
    ms_tape *tape = model->tape;
    if (ms_idle(tape) || !*input)
        return;
    ms_dtype dtype = (ms_dtype)ms_info(tape, *input)->dtype;
    ms_tensor *scaling = ms_local(f, ia3_scaling(tape, adapted->scale));
    if (adapted->scales_input) {
        ms_assign(f, input, as_adapter(tape, adapted, *input));
        ms_tensor *interm = ms_local(f, scaled(tape, *input, *scaling, dtype));
        ms_assign(f, result, ms_base_call(model, leaf, module, *interm, linear));
        return;
    }
    ms_assign(f, result, ms_base_call(model, leaf, module, *input, linear));
    if (!ms_idle(tape))
        ms_assign(f, result,
                  scaled(tape, *result, *scaling, (ms_dtype)ms_info(tape, *result)->dtype));
}

ms_tensor ms_adapted_call(ms_model *model, const ms_leaf_module *leaf,
                          const ms_linear_module *module, ms_tensor x, ms_linear_fn linear)
{
    ms_tape *tape = model->tape;
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *input = ms_argument(&f, x);
    ms_tensor *result = ms_local(&f, 0);
    if (tape->has_own_linear && !ms_idle(tape))
        ms_assign(&f, input, ms_heard_input(tape, *input));
    if (leaf->adapted->scale) {
        run_ia3(model, leaf, module, linear, &f, input, result);
    } else {
        ms_assign(&f, result, ms_base_call(model, leaf, module, *input, linear));
        if (leaf->quantized && !leaf->quantized->packing->converts_sum)
            add_to_quantized(model, leaf, module, &f, input, result);
        else
            add_adapter(model, leaf, module, &f, input, result);
    }
    return ms_locals_end(&f, result);
}
