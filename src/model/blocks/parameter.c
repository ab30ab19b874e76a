/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/blocks/parameter.h"

#include "model/blocks/host/host_modules.h"
#include "torch/ops/ops.h"
#include "torch/treatments/host_parameters.h"
#include "core/trace/build.h"

/* A tensor among the weights, which floats. */
static ms_tensor new_weight(ms_model *model, uint32_t scope, ms_shape shape, ms_dtype dtype)
{
    ms_tape *tape = model->tape;
    uint32_t previous = ms_scope_enter(tape, scope);
    bool was_meta = tape->is_meta, waits = ms_is_on_host(model, scope);
    tape->is_meta = was_meta || waits; /* it never has memory on the device */
    tape->new_category = MS_CATEGORY_WEIGHT;
    ms_tensor tensor = ms_empty(tape, shape, dtype);
    tape->new_category = MS_CATEGORY_TEMPORARY;
    if (waits)
        ms_host_parameter_enter(model, tensor);
    tape->is_meta = was_meta;
    tape->scope = previous;
    return tensor;
}

ms_tensor ms_parameter_of(ms_model *model, uint32_t scope, const char *name, ms_shape shape,
                          ms_dtype dtype)
{
    return ms_parameter_enter(model, scope, name, new_weight(model, scope, shape, dtype));
}

static void mark_frozen(ms_tape *tape, uint32_t parameter)
{
    ms_parameter *p = &tape->parameters.items[parameter];
    p->is_frozen = true;
    ms_info(tape, p->tensor)->requires_grad = false;
}

ms_tensor ms_frozen_parameter_of(ms_model *model, uint32_t scope, const char *name, ms_shape shape,
                                 ms_dtype dtype)
{
    ms_tape *tape = model->tape;
    ms_tensor tensor =
        ms_parameter_enter(model, scope, name, new_weight(model, scope, shape, dtype));
    if (tensor && !ms_idle(tape))
        mark_frozen(tape, tape->parameters.count - 1);
    return tensor;
}

static bool is_on_host(const ms_model *model, uint32_t scope)
{
    return model->run->parameter_device == MS_PARAMETERS_ON_HOST &&
           ms_scope_layer(model->tape, scope) != MS_NONE;
}

ms_tensor ms_parameter_enter(ms_model *model, uint32_t scope, const char *name, ms_tensor tensor)
{
    ms_tape *tape = model->tape;
    if (!tensor)
        return 0;
    ms_retain(tape, tensor);
    ms_name_storage(tape, tensor, name, MS_CATEGORY_WEIGHT);
    ms_parameter parameter = {.tensor = tensor, .name = ms_tape_name(tape, name), .scope = scope};
    ms_info(tape, tensor)->leaf = tape->parameters.count;
    ms_info(tape, tensor)->requires_grad = true;
    if (!ms_vec_push(&tape->parameters, parameter))
        ms_tape_fail(tape, MS_ERR_NOMEM);
    else if (is_on_host(model, scope))
        ms_host_parameters_add(tape, tape->parameters.count - 1);
    return tensor;
}

ms_tensor ms_parameter_new(ms_model *model, uint32_t scope, const char *name, ms_shape shape)
{
    return ms_parameter_of(model, scope, name, shape, model->run->dtype);
}

void ms_parameter_move_last(ms_model *model, uint32_t place)
{
    ms_tape *tape = model->tape;
    if (ms_idle(tape) || tape->parameters.count == 0)
        return;
    ms_parameter *items = tape->parameters.items, last = items[tape->parameters.count - 1];
    if (is_on_host(model, last.scope))
        return; /* the host's copies know parameters by number */
    for (uint32_t i = tape->parameters.count - 1; i > place; i--)
        items[i] = items[i - 1];
    items[place] = last;
    for (uint32_t i = place; i < tape->parameters.count; i++)
        ms_info(tape, items[i].tensor)->leaf = i;
}

void ms_parameters_freeze(ms_model *model, uint32_t first, uint32_t end)
{
    for (uint32_t i = first; i < end && !ms_idle(model->tape); i++)
        mark_frozen(model->tape, i);
}

static bool has_frozen(const ms_tape *tape)
{
    for (uint32_t i = 0; i < tape->parameters.count; i++)
        if (tape->parameters.items[i].is_frozen)
            return true;
    return false;
}

/* Into tape->in_order, and a frozen one into tape->frozen. */
static bool place(ms_tape *tape, const ms_parameter *p, uint32_t number)
{
    const ms_placed row = {.tensor = p->tensor,
                           .name = p->name,
                           .scope = p->scope,
                           .parameter = p->is_frozen ? MS_NONE : number,
                           .is_embedding = p->is_embedding};
    return ms_vec_push(&tape->in_order, row) &&
           (!p->is_frozen || ms_vec_push(&tape->frozen, p->tensor));
}

void ms_parameters_settle(ms_model *model)
{
    ms_tape *tape = model->tape;
    uint32_t kept = 0;
    if (ms_idle(tape) || tape->in_order.count || !has_frozen(tape))
        return;
    for (uint32_t i = 0; i < tape->parameters.count; i++) {
        const ms_parameter p = tape->parameters.items[i];
        ms_info(tape, p.tensor)->leaf = p.is_frozen ? MS_NONE : kept;
        if (!place(tape, &p, kept))
            ms_tape_fail(tape, MS_ERR_NOMEM);
        if (!p.is_frozen)
            tape->parameters.items[kept++] = p;
    }
    tape->parameters.count = kept;
}

/* The handle stays and gets a new storage of that dtype. */
static void renew(ms_tape *tape, ms_tensor tensor, ms_dtype dtype)
{
    const ms_storage from = tape->trace->storages.items[ms_info(tape, tensor)->storage];
    tape->new_category = from.category;
    ms_tensor cast = ms_empty_like(tape, tensor, dtype);
    tape->new_category = MS_CATEGORY_TEMPORARY;
    if (!cast)
        return;
    ms_storage_swap(tape, tensor, cast);
    ms_trace_label(tape->trace, ms_info(tape, tensor)->storage, from.name, from.scope);
    ms_consume(tape, cast);
}

void ms_module_cast(ms_model *model, ms_tensor tensor, ms_dtype dtype)
{
    ms_tape *tape = model->tape;
    if (tensor && !ms_idle(tape) && ms_info(tape, tensor)->dtype != dtype &&
        ms_dtype_info_of((ms_dtype)ms_info(tape, tensor)->dtype)->floating)
        renew(tape, tensor, dtype);
}

void ms_bias_pad(ms_model *model, ms_tensor bias)
{
    if (bias && !ms_idle(model->tape) && !ms_is_made_on_host(model))
        renew(model->tape, bias, (ms_dtype)ms_info(model->tape, bias)->dtype);
}

bool ms_is_made_on_host(const ms_model *model)
{
    return ms_is_packed(&model->run->quantization) || model->run->has_host_layers ||
           model->run->parameter_device == MS_PARAMETERS_ON_HOST;
}
