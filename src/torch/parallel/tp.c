/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Tensor parallelism or a pipeline alone: the model is built on no device, and this rank's parts of
 * it are then made in the order of its modules. What the ranks do together are operators of the
 * model (model/blocks/tensor_parallel.h).
 */
#include "torch/parallel/kit/kinds.h"

static void build_begin(ms_tape *tape)
{
    tape->is_meta = true;
}

static void make_again(ms_tape *tape, ms_tensor tensor)
{
    if (tape->status == MS_OK)
        ms_storage_refill(tape, tensor);
}

/* to_empty() of parameters in their order, then of buffers. */
static void build_end(ms_tape *tape)
{
    for (uint32_t i = 0; i < tape->parameters.count; i++)
        ms_storage_empty(tape, tape->parameters.items[i].tensor);
    for (uint32_t i = 0; i < tape->module_buffers.count; i++)
        ms_storage_empty(tape, tape->module_buffers.items[i]);
    tape->is_meta = false;
    for (uint32_t i = 0; i < tape->parameters.count; i++)
        make_again(tape, tape->parameters.items[i].tensor);
    for (uint32_t i = 0; i < tape->module_buffers.count; i++)
        make_again(tape, tape->module_buffers.items[i]);
}

static void micro_step(ms_tape *tape, bool is_last)
{
    (void)tape;
    (void)is_last;
}

const ms_parallel_technique ms_parallel_tp = {
    .build_begin = build_begin, .build_end = build_end, .micro_step = micro_step};
