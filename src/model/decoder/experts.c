/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Experts as grouped products, and as batches.
 */
#include "model/decoder/experts.h"

#include "model/blocks/host/host_modules.h"
#include "model/blocks/packed/quantized.h"

#include "input/config/model/model_config.h"
#include "model/decoder/experts_eager.h"
#include "torch/ops/liger/liger.h"
#include "torch/ops/moe/routing.h"
#include "torch/ops/moe/experts.h"
#include "torch/ops/moe/grouped.h"
#include "torch/ops/moe/rows.h"
#include "torch/ops/quantized/fp8.h"

/* ---- experts ---- */

static bool are_packed(const ms_model *model)
{
    const ms_packing *packing = ms_packing_of(&model->run->quantization);
    return packing && packing->packs_experts;
}

static ms_tensor stack_new(ms_model *model, uint32_t scope, const char *name, ms_shape shape)
{
    return are_packed(model) ? ms_packed_experts_new(model, scope, name, shape)
                             : ms_parameter_new(model, scope, name, shape);
}

ms_experts_module ms_experts_new(ms_model *model, uint32_t parent, ms_experts_form form)
{
    ms_symbols *s = &model->tape->trace->symbols;
    ms_dim count = form.count.value ? form.count : ms_expert_count(model);
    ms_dim width = form.inner.value ? form.inner : ms_expert_width(model);
    ms_dim both = form.ungated ? width : ms_dim_mul(s, ms_dim_number(s, 2), width);
    ms_dim hidden = form.width.value ? form.width : model->hidden;
    uint32_t scope = ms_scope_add(model->tape, parent, form.name ? form.name : "experts", MS_NONE);
    ms_experts_module m = {
        .scope = scope, .form = form, .count = count, .width = hidden, .inner = width};
    bool t = form.transposed;
    m.gate_up = stack_new(model, scope, form.ungated ? "up_proj" : "gate_up_proj",
                          MS_SHAPE(count, t ? hidden : both, t ? both : hidden));
    if (form.bias)
        m.gate_up_bias = ms_parameter_new(model, scope, "gate_up_proj_bias", MS_SHAPE(count, both));
    m.down = stack_new(model, scope, "down_proj",
                       MS_SHAPE(count, t ? width : hidden, t ? hidden : width));
    if (form.bias)
        m.down_bias = ms_parameter_new(model, scope, "down_proj_bias", MS_SHAPE(count, hidden));
    const ms_tensor stacks[] = {m.gate_up, m.gate_up_bias, m.down, m.down_bias};
    for (uint32_t i = 0; i < sizeof stacks / sizeof *stacks && !ms_idle(model->tape); i++)
        if (stacks[i])
            model->idle_param_count += ms_elements(&ms_info(model->tape, stacks[i])->shape) /
                                       count.value *
                                       (count.value - model->config->experts_per_token);
    return m;
}

/* act(gate) * up of the two halves. */
static ms_tensor gate_halves(ms_model *model, ms_dim width, ms_tensor gate_up)
{
    ms_tape *tape = model->tape;
    ms_tensor halves[2];
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *input = ms_argument(&f, gate_up);
    ms_split(tape, *input, 1, width, 2, halves);
    ms_tensor *gate = ms_local(&f, halves[0]);
    ms_tensor *up = ms_local(&f, halves[1]);
    ms_tensor out = ms_mul(tape, ms_activation_call(model, *gate), *up);
    ms_retain(tape, out);
    ms_locals_end(&f, NULL);
    return ms_unown(tape, out);
}

static ms_tensor apply_gate(ms_model *model, const ms_experts_module *m, ms_tensor x)
{
    if (m->form.gate)
        return m->form.gate(model, x);
    return m->form.ungated ? ms_activation_call(model, x) : gate_halves(model, m->inner, x);
}

/* grouped_mm(input.to(weight.dtype), weight) with the bias of each row's expert added. */
static ms_tensor grouped_linear(ms_model *model, const ms_experts_module *m, ms_tensor input,
                                ms_tensor weights, ms_tensor offsets, ms_tensor bias)
{
    ms_tape *tape = model->tape;
    if (ms_idle(tape) || !input)
        return 0;
    if (are_packed(model))
        return ms_grouped_fp8(tape, input, weights, offsets);
    ms_tensor cast = ms_to(tape, input, (ms_dtype)ms_info(tape, weights)->dtype);
    ms_tensor seen = m->form.transposed ? weights : ms_transpose(tape, weights, 1, 2);
    ms_tensor out = ms_grouped_mm(tape, cast, seen, offsets);
    return bias ? ms_add_into(tape, out, bias) : out;
}

/* The bias of each row's expert. */
static ms_tensor biases_of(ms_model *model, ms_tensor biases, ms_tensor ids)
{
    return biases ? ms_index_rows(model->tape, biases, ids) : 0;
}

/* How many tokens each expert gets, added up: where its rows end. */
static ms_tensor *find_offsets(ms_tape *tape, const ms_experts_module *m, ms_locals *f,
                               ms_tensor ids)
{
    ms_dtype dtype = tape->on_cpu ? MS_DTYPE_F32 : MS_DTYPE_I32;
    ms_tensor *input = ms_local(f, ms_to(tape, ids, dtype));
    ms_tensor *counts = ms_local(f, ms_histogram(tape, *input, m->count));
    return ms_local(f, ms_offsets(tape, *counts));
}

/* The rows, sorted by expert, through all experts: [T, H], weighted. */
static ms_tensor *run_groups(ms_model *model, const ms_experts_module *m, ms_locals *f,
                             ms_tensor rows, ms_tensor weights, ms_tensor ids, ms_tensor offsets)
{
    ms_tape *tape = model->tape;
    ms_tensor *bias = ms_local(f, biases_of(model, m->gate_up_bias, ids));
    ms_tensor *out = ms_local(f, grouped_linear(model, m, rows, m->gate_up, offsets, *bias));
    ms_assign(f, out, apply_gate(model, m, *out));
    ms_assign(f, bias, biases_of(model, m->down_bias, ids));
    ms_assign(f, out, grouped_linear(model, m, *out, m->down, offsets, *bias));
    if (are_packed(model) && !ms_idle(tape))
        weights = ms_to(tape, weights, (ms_dtype)ms_info(tape, *out)->dtype);
    return ms_local(f, ms_mul(tape, *out, ms_unsqueeze(tape, weights, 1)));
}

static ms_tensor run_grouped(ms_model *model, const ms_experts_module *m, ms_tensor x,
                             const ms_routing *r)
{
    ms_tape *tape = model->tape;
    if (ms_idle(tape) || !x)
        return 0;
    ms_dim tokens = ms_info(tape, x)->shape.dims[0];
    ms_dim each = ms_info(tape, r->experts)->shape.dims[1];
    ms_shape flat = MS_SHAPE(ms_dim_mul(&tape->trace->symbols, tokens, each));
    ms_tensor sorted[2];
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *hidden = ms_argument(&f, x);
    ms_tensor *weights = ms_local(&f, ms_reshape(tape, r->weights, flat));
    ms_tensor *ids = ms_local(&f, ms_reshape(tape, r->experts, flat));
    ms_sort(tape, *ids, sorted);
    ms_tensor *sorted_ids = ms_local(&f, sorted[0]), *order = ms_local(&f, sorted[1]);
    ms_tensor *rows = ms_local(&f, ms_index_rows(tape, *hidden, ms_floor_divide(tape, *order)));
    ms_tensor *sorted_weights = ms_local(&f, ms_index_rows(tape, *weights, *order));
    ms_tensor *offsets = find_offsets(tape, m, &f, *sorted_ids);
    ms_tensor *out = run_groups(model, m, &f, *rows, *sorted_weights, *sorted_ids, *offsets);
    ms_tensor *inverse = ms_local(&f, ms_inverse_order(tape, *order));
    ms_assign(&f, out, ms_index_rows(tape, *out, *inverse));
    ms_tensor by_token = ms_view(tape, *out, MS_SHAPE(tokens, each, m->width));
    ms_tensor *sum = ms_local(&f, ms_sum_dim(tape, by_token, 1, false));
    ms_tensor result =
        ms_idle(tape) ? 0 : ms_to(tape, *sum, (ms_dtype)ms_info(tape, *hidden)->dtype);
    ms_retain(tape, result);
    ms_locals_end(&f, NULL);
    return ms_unown(tape, result);
}

/* ---- experts as batches of products ---- */

/* weights @ rows, of each row its own, and its bias added. */
static ms_tensor batched_linear(ms_model *model, const ms_experts_module *m, ms_tensor rows,
                                ms_tensor weights, ms_tensor bias)
{
    ms_tape *tape = model->tape;
    if (ms_idle(tape) || !rows)
        return 0;
    ms_tensor out = m->form.transposed ? ms_matmul(tape, ms_unsqueeze(tape, rows, 1), weights)
                                       : ms_matmul(tape, weights, ms_unsqueeze(tape, rows, 2));
    ms_shape wide = {0};
    if (!ms_idle(tape))
        wide = ms_info(tape, out)->shape;
    out = ms_reshape(tape, out, MS_SHAPE(wide.dims[0], wide.dims[m->form.transposed ? 2 : 1]));
    return bias ? ms_add_into(tape, out, bias) : out;
}

/* batched_mm: every row has its expert's weights, copied. */
static ms_tensor run_batched(ms_model *model, const ms_experts_module *m, ms_tensor x,
                             const ms_routing *r)
{
    ms_tape *tape = model->tape;
    if (ms_idle(tape) || !x)
        return 0;
    ms_dim tokens = ms_info(tape, x)->shape.dims[0];
    ms_dim each = ms_info(tape, r->experts)->shape.dims[1];
    ms_shape flat = MS_SHAPE(ms_dim_mul(&tape->trace->symbols, tokens, each));
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *hidden = ms_argument(&f, x);
    ms_tensor *rows = ms_local(&f, ms_repeat_each(tape, *hidden, 0, each));
    ms_tensor *weights = ms_local(&f, ms_reshape(tape, r->weights, flat));
    ms_tensor *ids = ms_local(&f, ms_reshape(tape, r->experts, flat));
    ms_tensor *selected = ms_local(&f, ms_index_rows(tape, m->gate_up, *ids));
    ms_tensor *bias = ms_local(&f, biases_of(model, m->gate_up_bias, *ids));
    ms_tensor *out = ms_local(&f, batched_linear(model, m, *rows, *selected, *bias));
    ms_assign(&f, out, apply_gate(model, m, *out));
    ms_assign(&f, selected, ms_index_rows(tape, m->down, *ids));
    ms_assign(&f, bias, biases_of(model, m->down_bias, *ids));
    ms_assign(&f, out, batched_linear(model, m, *out, *selected, *bias));
    ms_tensor *weighted = ms_local(&f, ms_mul(tape, *out, ms_unsqueeze(tape, *weights, 1)));
    ms_tensor by_token = ms_view(tape, *weighted, MS_SHAPE(tokens, each, m->width));
    ms_tensor *sum = ms_local(&f, ms_sum_dim(tape, by_token, 1, false));
    ms_tensor result =
        ms_idle(tape) ? 0 : ms_to(tape, *sum, (ms_dtype)ms_info(tape, *hidden)->dtype);
    ms_retain(tape, result);
    ms_locals_end(&f, NULL);
    return ms_unown(tape, result);
}

ms_tensor ms_experts_call(ms_model *model, const ms_experts_module *module, ms_tensor hidden,
                          const ms_routing *routing)
{
    uint32_t previous = ms_scope_enter(model->tape, module->scope);
    const ms_fetched fetched =
        ms_host_fetch(model, MS_MOST_FETCHED,
                      (ms_tensor[MS_MOST_FETCHED]){module->gate_up, module->gate_up_bias,
                                                   module->down, module->down_bias});
    ms_tensor out;
    if (model->run->liger & MS_LIGER_SWIGLU)
        out =
            ms_liger_experts(model->tape, hidden, module->gate_up, module->down, routing->weights);
    else if (model->run->experts == MS_EXPERTS_EAGER)
        out = ms_experts_eager(model, module, hidden, routing);
    else if (model->batches_experts)
        out = run_batched(model, module, hidden, routing);
    else
        out = run_grouped(model, module, hidden, routing);
    ms_host_drop(model, &fetched);
    model->tape->scope = previous;
    return out;
}
