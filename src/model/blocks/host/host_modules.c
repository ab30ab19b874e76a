/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/blocks/host/host_modules.h"

#include "core/trace/build.h"

/* Whether a layer was made already. */
static bool has_layers(const ms_model *model)
{
    const ms_tape *tape = model->tape;
    for (uint32_t i = tape->parameters.count; i-- > 0;)
        if (ms_scope_layer(tape, tape->parameters.items[i].scope) != MS_NONE)
            return true;
    return false;
}

bool ms_is_on_host(const ms_model *model, uint32_t scope)
{
    if (!model->run->has_host_layers)
        return false;
    uint32_t layer = ms_scope_layer(model->tape, scope);
    return layer == MS_NONE ? has_layers(model) : layer >= model->run->device_layers;
}

void ms_host_parameter_enter(ms_model *model, ms_tensor tensor)
{
    if (!tensor)
        return;
    model->host_parameters++;
    ms_storage_empty(model->tape, tensor);
}

static bool is_here(ms_tape *tape, ms_tensor tensor)
{
    return ms_storage_is_held(tape, ms_info(tape, tensor)->storage);
}

uint64_t ms_host_modules_bytes(const ms_model *model)
{
    ms_tape *tape = model->tape;
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < tape->parameters.count; i++)
        if (!is_here(tape, tape->parameters.items[i].tensor))
            bytes += ms_tensor_bytes(tape, tape->parameters.items[i].tensor);
    return bytes;
}

ms_fetched ms_host_fetch(ms_model *model, uint32_t count, const ms_tensor *parameters)
{
    ms_tape *tape = model->tape;
    ms_fetched fetched = {.count = 0};
    for (uint32_t i = 0; i < count && model->run->has_host_layers && !ms_idle(tape); i++) {
        if (!parameters[i] || is_here(tape, parameters[i]))
            continue;
        ms_storage_refill(tape, parameters[i]);
        ms_trace_event(tape, MS_EVENT_EMPTY_CACHE, 0);
        fetched.tensors[fetched.count++] = parameters[i];
    }
    model->host_fetches += fetched.count;
    return fetched;
}

ms_fetched ms_host_fetch_pair(ms_model *model, ms_tensor weight, ms_tensor bias)
{
    return ms_host_fetch(model, 2, (ms_tensor[]){weight, bias});
}

void ms_host_drop(ms_model *model, const ms_fetched *fetched)
{
    for (uint32_t i = 0; i < fetched->count && !ms_idle(model->tape); i++)
        ms_storage_empty(model->tape, fetched->tensors[i]);
}

/* A module is called once in a pass. */
bool ms_host_modules_were_fetched(const ms_model *model)
{
    return model->host_fetches >= model->host_parameters;
}
