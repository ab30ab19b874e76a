/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Norms and means over parameters, as computed by optimizers: without graph or autocast.
 */
#include "run/step/optimizers/reductions.h"

#include "torch/ops/ops.h"
#include "run/step/optimizers/optimizer_row.h"
#include "torch/autograd/cuda_reduce.h"

static void use_partial_results(ms_tape *tape, uint64_t outputs, uint64_t inputs,
                                bool inputs_contiguous)
{
    if (tape->on_cpu || ms_idle(tape))
        return;
    ms_reduce_buffers buffers =
        ms_cuda_reduce_buffers(tape->options.device, outputs, inputs, inputs_contiguous);
    if (!buffers.partial_bytes)
        return;
    ms_tensor partial = ms_empty_bytes(tape, buffers.partial_bytes, MS_DTYPE_U8);
    ms_transient(tape, buffers.semaphore_bytes, MS_DTYPE_I32);
    ms_consume(tape, partial);
}

static ms_tensor reduced(ms_tape *tape, ms_tensor a, ms_shape shape, bool inputs_contiguous)
{
    if (ms_idle(tape) || !a)
        return 0;
    const ms_tensor_info info = *ms_info(tape, a);
    ms_tensor out = ms_empty(tape, shape, (ms_dtype)info.dtype);
    uint64_t outputs = ms_elements(&shape), elements = ms_elements(&info.shape);
    use_partial_results(tape, outputs, outputs ? elements / outputs : 0, inputs_contiguous);
    return out;
}

ms_tensor ms_reduce_all(ms_tape *tape, ms_tensor a)
{
    return reduced(tape, a, (ms_shape){.rank = 0}, true);
}

ms_tensor ms_reduce_rows(ms_tape *tape, ms_tensor a)
{
    ms_shape shape = ms_info(tape, a)->shape;
    shape.rank--;
    return reduced(tape, a, shape, true);
}

ms_tensor ms_reduce_columns(ms_tape *tape, ms_tensor a)
{
    ms_shape shape = ms_info(tape, a)->shape;
    shape.dims[shape.rank - 2] = shape.dims[shape.rank - 1];
    shape.rank--;
    return reduced(tape, a, shape, false);
}
