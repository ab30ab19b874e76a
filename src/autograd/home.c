/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Parameters whose home is the host: those of the layers, layer by layer. Between its runs a
 * layer's parameters have no memory on the device. They are fetched while the layer before runs,
 * forward and backward, and leave behind it; the last layer's stay from forward to backward. Its
 * gradients set out when its backward has ended and leave when that of the next layer has. From the
 * second micro-batch on they land beside, and the host adds them.
 *
 * All memory is the compute stream's. A parameter that comes again is another storage in the trace,
 * the same as the first.
 */
#include "autograd/engine.h"

/* What an addition on the host reads and writes. */
enum { PASSES_TO_ADD = 3 };

static uint32_t layer_of(const ms_tape *tape, uint32_t scope)
{
    return scope == MS_NONE ? MS_NONE : tape->trace->scopes.items[scope].layer;
}

bool ms_home_is_host(const ms_tape *tape, uint32_t scope)
{
    return tape->run->parameter_device == MS_PARAMETERS_ON_HOST && layer_of(tape, scope) != MS_NONE;
}

void ms_home_add(ms_tape *tape, uint32_t index)
{
    ms_parameter *parameter = &tape->parameters.items[index];
    uint32_t layer = layer_of(tape, parameter->scope);
    parameter->is_at_home = true;
    if (layer == tape->homes.count &&
        !ms_vec_push(&tape->homes, (ms_home){.first_parameter = index})) {
        ms_tape_fail(tape, MS_ERR_NOMEM);
        return;
    }
    ms_home *home = &tape->homes.items[layer];
    home->parameter_count++;
    home->bytes += ms_tensor_bytes(tape, parameter->tensor);
    ms_storage_release(tape, ms_info(tape, parameter->tensor)->storage);
}

uint64_t ms_home_landing_bytes(const ms_tape *tape)
{
    uint64_t most = 0;
    for (uint32_t i = 0; i < tape->homes.count && tape->run->accumulate > 1; i++)
        if (tape->homes.items[i].bytes > most)
            most = tape->homes.items[i].bytes;
    return most;
}

/* ---- parameters ---- */

static void fetch(ms_tape *tape, ms_home *home)
{
    if (home->is_here || ms_idle(tape))
        return;
    home->is_here = true;
    for (uint32_t i = 0; i < home->parameter_count; i++)
        ms_storage_renew(tape, tape->parameters.items[home->first_parameter + i].tensor);
    home->copy_in = ms_work_begin(tape, ms_work_of(MS_WORK_TO_DEVICE, home->bytes));
    home->is_coming = true;
}

static void wait(ms_tape *tape, ms_home *home)
{
    if (home->is_coming)
        ms_work_wait(tape, home->copy_in);
    home->is_coming = false;
}

static void release(ms_tape *tape, ms_home *home)
{
    home->is_here = false;
    for (uint32_t i = 0; i < home->parameter_count && !ms_idle(tape); i++) {
        ms_tensor tensor = tape->parameters.items[home->first_parameter + i].tensor;
        ms_storage_release(tape, ms_info(tape, tensor)->storage);
    }
}

/* ---- gradients ---- */

static void send(ms_tape *tape, ms_home *home)
{
    for (uint32_t i = 0; i < home->parameter_count; i++) {
        ms_parameter *parameter = &tape->parameters.items[home->first_parameter + i];
        parameter->leaving = parameter->grad;
        parameter->grad = 0;
    }
    home->copy_out = ms_work_begin(tape, ms_work_of(MS_WORK_TO_HOST, home->bytes));
    if (tape->micro_step == 0)
        return;
    ms_work addition = ms_work_of(MS_WORK_HOST_UPDATE, PASSES_TO_ADD * home->bytes);
    addition.after = home->copy_out;
    home->copy_out = ms_work_begin(tape, addition);
}

static void drop(ms_tape *tape, ms_home *home)
{
    ms_work_wait(tape, home->copy_out);
    for (uint32_t i = 0; i < home->parameter_count; i++) {
        ms_parameter *parameter = &tape->parameters.items[home->first_parameter + i];
        ms_release(tape, parameter->leaving);
        parameter->leaving = 0;
    }
}

/* ---- the passes ---- */

void ms_home_begin(ms_tape *tape)
{
    if (tape->homes.count)
        fetch(tape, &tape->homes.items[0]);
}

void ms_home_begin_layer(ms_tape *tape, uint32_t layer)
{
    if (tape->homes.count == 0)
        return;
    fetch(tape, &tape->homes.items[layer]);
    wait(tape, &tape->homes.items[layer]);
    if (layer + 1 < tape->homes.count)
        fetch(tape, &tape->homes.items[layer + 1]);
}

void ms_home_end_layer(ms_tape *tape, uint32_t layer)
{
    if (layer + 1 < tape->homes.count)
        release(tape, &tape->homes.items[layer]);
}

static void leave(ms_tape *tape, uint32_t layer)
{
    if (layer + 1 < tape->homes.count)
        drop(tape, &tape->homes.items[layer + 1]);
    release(tape, &tape->homes.items[layer]);
    send(tape, &tape->homes.items[layer]);
}

void ms_home_pass(ms_tape *tape, uint32_t from, uint32_t to)
{
    if (tape->homes.count == 0 || ms_idle(tape))
        return;
    if (from != MS_NONE)
        leave(tape, from);
    if (to == MS_NONE)
        return;
    wait(tape, &tape->homes.items[to]);
    if (to > 0)
        fetch(tape, &tape->homes.items[to - 1]);
}

void ms_home_end(ms_tape *tape)
{
    if (tape->homes.count && !ms_idle(tape))
        drop(tape, &tape->homes.items[0]);
}
