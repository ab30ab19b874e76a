/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Parameters offloaded to the host: those of the layers, layer by layer. While a layer does not
 * run, its parameters have no device memory. They are fetched (prefetch) while the preceding layer
 * runs, in forward and backward, and freed after their layer; the last layer's stay from forward to
 * backward. A layer's gradients are copied to the host after its backward and freed after that of
 * the next layer. From the second micro-batch on they are copied to a staging buffer, and the host
 * accumulates them.
 *
 * All memory is the compute stream's. A parameter that is fetched again is a new storage in the
 * trace, with same_as naming the first.
 */
#include "torch/treatments/host_parameters.h"

#include "torch/autograd/work.h"

/* What an addition on the host reads and writes. */
enum { PASSES_TO_ADD = 3 };

typedef struct host_layer {
    uint32_t first_parameter, parameter_count;
    uint32_t first_leaving; /* into leaving, one for each parameter */
    uint64_t bytes;
    uint32_t copy_in, copy_out; /* of the parameters, of the gradients */
    bool is_here, is_coming;    /* on the device, or soon */
} host_layer;

typedef struct host_parameters {
    ms_vec(host_layer) layers;
    ms_vec(ms_tensor) leaving; /* gradients on their way to the host */
} host_parameters;

static void install(ms_tape *tape, void *state);

static void free_state(void *state)
{
    host_parameters *all = state;
    ms_vec_free(&all->layers);
    ms_vec_free(&all->leaving);
}

static const ms_state_kind kind = {
    .bytes = sizeof(host_parameters), .install = install, .free = free_state};

void ms_host_parameters_add(ms_tape *tape, uint32_t index)
{
    host_parameters *all = ms_hooks_state(tape, &kind);
    if (!all)
        return;
    ms_parameter *parameter = &tape->parameters.items[index];
    uint32_t layer = ms_scope_layer(tape, parameter->scope);
    const host_layer new_layer = {.first_parameter = index, .first_leaving = all->leaving.count};
    if ((layer == all->layers.count && !ms_vec_push(&all->layers, new_layer)) ||
        !ms_vec_push(&all->leaving, 0u)) {
        ms_tape_fail(tape, MS_ERR_NOMEM);
        return;
    }
    host_layer *row = &all->layers.items[layer];
    row->parameter_count++;
    row->bytes += ms_tensor_bytes(tape, parameter->tensor);
    ms_storage_release(tape, ms_info(tape, parameter->tensor)->storage);
}

bool ms_host_parameters_has(const ms_tape *tape, uint32_t parameter)
{
    const host_parameters *all = ms_hooks_find_state(tape, &kind);
    uint32_t layer = ms_scope_layer(tape, tape->parameters.items[parameter].scope);
    if (!all || layer == MS_NONE || layer >= all->layers.count)
        return false;
    const host_layer *row = &all->layers.items[layer];
    return parameter >= row->first_parameter &&
           parameter - row->first_parameter < row->parameter_count;
}

uint64_t ms_host_parameters_bytes(const ms_tape *tape)
{
    const host_parameters *all = ms_hooks_find_state(tape, &kind);
    uint64_t bytes = 0;
    for (uint32_t i = 0; all && i < all->layers.count; i++)
        bytes += all->layers.items[i].bytes;
    return bytes;
}

uint64_t ms_host_parameters_layer_bytes(const ms_tape *tape)
{
    const host_parameters *all = ms_hooks_find_state(tape, &kind);
    uint64_t most = 0;
    for (uint32_t i = 0; all && i < all->layers.count; i++)
        if (all->layers.items[i].bytes > most)
            most = all->layers.items[i].bytes;
    return most;
}

/* ---- parameters ---- */

static void fetch(ms_tape *tape, host_layer *row)
{
    if (row->is_here || ms_idle(tape))
        return;
    row->is_here = true;
    for (uint32_t i = 0; i < row->parameter_count; i++)
        ms_storage_renew(tape, tape->parameters.items[row->first_parameter + i].tensor);
    row->copy_in = ms_work_begin(tape, ms_work_of(MS_WORK_TO_DEVICE, row->bytes));
    row->is_coming = true;
}

static void wait(ms_tape *tape, host_layer *row)
{
    if (row->is_coming)
        ms_work_wait(tape, row->copy_in);
    row->is_coming = false;
}

static void release(ms_tape *tape, host_layer *row)
{
    row->is_here = false;
    for (uint32_t i = 0; i < row->parameter_count && !ms_idle(tape); i++) {
        ms_tensor tensor = tape->parameters.items[row->first_parameter + i].tensor;
        ms_storage_release(tape, ms_info(tape, tensor)->storage);
    }
}

/* ---- gradients ---- */

static void send(ms_tape *tape, host_parameters *all, host_layer *row)
{
    for (uint32_t i = 0; i < row->parameter_count; i++) {
        ms_parameter *parameter = &tape->parameters.items[row->first_parameter + i];
        all->leaving.items[row->first_leaving + i] = parameter->grad;
        parameter->grad = 0;
    }
    row->copy_out = ms_work_begin(tape, ms_work_of(MS_WORK_TO_HOST, row->bytes));
    if (tape->micro_step == 0)
        return;
    ms_work addition = ms_work_of(MS_WORK_HOST_UPDATE, PASSES_TO_ADD * row->bytes);
    addition.after = row->copy_out;
    row->copy_out = ms_work_begin(tape, addition);
}

static void drop(ms_tape *tape, host_parameters *all, host_layer *row)
{
    ms_work_wait(tape, row->copy_out);
    for (uint32_t i = 0; i < row->parameter_count; i++) {
        ms_tensor *leaving = &all->leaving.items[row->first_leaving + i];
        ms_release(tape, *leaving);
        *leaving = 0;
    }
}

/* ---- the passes ---- */

static void before_forward(ms_tape *tape, void *context, uint32_t scope)
{
    host_parameters *all = context;
    uint32_t layer = scope == MS_NONE ? 0 : ms_scope_layer(tape, scope);
    fetch(tape, &all->layers.items[layer]);
    if (scope == MS_NONE)
        return;
    wait(tape, &all->layers.items[layer]);
    if (layer + 1 < all->layers.count)
        fetch(tape, &all->layers.items[layer + 1]);
}

static void after_forward(ms_tape *tape, void *context, uint32_t scope)
{
    host_parameters *all = context;
    if (scope != MS_NONE && ms_scope_layer(tape, scope) + 1 < all->layers.count)
        release(tape, &all->layers.items[ms_scope_layer(tape, scope)]);
}

static void before_backward(ms_tape *tape, void *context, uint32_t scope)
{
    host_parameters *all = context;
    uint32_t layer = ms_scope_layer(tape, scope);
    if (ms_idle(tape))
        return;
    wait(tape, &all->layers.items[layer]);
    if (layer > 0)
        fetch(tape, &all->layers.items[layer - 1]);
}

static void after_backward(ms_tape *tape, void *context, uint32_t scope)
{
    host_parameters *all = context;
    uint32_t layer = ms_scope_layer(tape, scope);
    if (ms_idle(tape))
        return;
    if (scope == MS_NONE) {
        drop(tape, all, &all->layers.items[0]);
        return;
    }
    if (layer + 1 < all->layers.count)
        drop(tape, all, &all->layers.items[layer + 1]);
    release(tape, &all->layers.items[layer]);
    send(tape, all, &all->layers.items[layer]);
}

static void install(ms_tape *tape, void *state)
{
    ms_hooks_push_module(tape, (ms_module_hooks){.before_forward = before_forward,
                                                 .after_forward = after_forward,
                                                 .before_backward = before_backward,
                                                 .after_backward = after_backward,
                                                 .context = state});
}
