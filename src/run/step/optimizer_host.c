/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * An optimizer on the host of a GPU: for each parameter the gradient is copied to the host, where a
 * copy of the parameter is updated and copied back, concurrently with the copies of other
 * parameters. It uses no device memory.
 */
#include "run/step/optimizer_host.h"

#include "run/step/optimizers/optimizer_row.h"
#include "torch/autograd/work.h"
#include "torch/treatments/host_parameters.h"

/* A copy of the tensor on the device to the host, or one from there that fills it. */
static uint32_t begin_copy(ms_tape *tape, ms_work_kind kind, ms_tensor tensor)
{
    ms_work copy = ms_work_of(kind, ms_tensor_bytes(tape, tensor));
    uint32_t storage = ms_info(tape, tensor)->storage;
    *(kind == MS_WORK_TO_HOST ? &copy.source : &copy.target) = storage;
    return ms_work_begin(tape, copy);
}

/* All gradients set out first; those of parameters that the host keeps are there. What waits is the
 * device, which has nothing else to do. */
void ms_optimizer_step_on_host(ms_tape *tape, const ms_optimizer_row *row)
{
    ms_vec(uint32_t) gone = {0}, back = {0};
    uint32_t count = tape->parameters.count;
    bool ok = ms_vec_expect(&gone, count) && ms_vec_expect(&back, count);
    for (uint32_t i = 0; i < count && ok; i++) {
        ms_tensor grad = tape->parameters.items[i].grad;
        ok = ms_vec_push(&gone, grad ? begin_copy(tape, MS_WORK_TO_HOST, grad) : MS_NONE);
    }
    for (uint32_t i = 0; i < count && ok && tape->status == MS_OK; i++) {
        bool is_on_host = ms_host_parameters_has(tape, i);
        if (gone.items[i] == MS_NONE && !is_on_host)
            continue;
        ms_tensor tensor = tape->parameters.items[i].tensor;
        uint64_t bytes = ms_tensor_bytes(tape, tensor) * ms_optimizer_passes(row);
        if (!is_on_host)
            ms_work_wait(tape, gone.items[i]);
        ms_work_wait(tape, ms_work_begin(tape, ms_work_of(MS_WORK_HOST_UPDATE, bytes)));
        if (!is_on_host)
            ok = ms_vec_push(&back, begin_copy(tape, MS_WORK_TO_DEVICE, tensor));
    }
    for (uint32_t i = 0; i < back.count && tape->status == MS_OK; i++)
        ms_work_wait(tape, back.items[i]);
    if (!ok)
        ms_tape_fail(tape, MS_ERR_NOMEM);
    ms_vec_free(&gone);
    ms_vec_free(&back);
}

uint64_t ms_optimizer_bytes_on_host(ms_tape *tape, const ms_optimizer_row *row)
{
    uint64_t bytes = 0, states = ms_optimizer_state_count(row);
    for (uint32_t i = 0; i < tape->parameters.count; i++) {
        const ms_parameter *parameter = &tape->parameters.items[i];
        uint64_t each = ms_tensor_bytes(tape, parameter->tensor);
        bytes += 2 * each;
        if (parameter->is_reached) /* else it has no gradient on the device either */
            bytes += states * each + (row->has_step ? ms_dtype_bytes(MS_DTYPE_F32) : 0);
    }
    return bytes;
}
