/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Standard deviations of rows.
 */
#include "torch/ops/ops.h"

enum { INPUT, RESULT }; /* saved */

/* As var_backward of grad / (2 * result), which is 0 where the result is:
 * (2 / N) * grad * (input - mean) */
static void std_backward(ms_tape *tape, const ms_node *node, ms_tensor *grads, ms_tensor *out)
{
    ms_tensor input = node->saved[INPUT], result = node->saved[RESULT];
    ms_dtype dtype = (ms_dtype)ms_info(tape, grads[0])->dtype;
    ms_tensor twice = ms_empty_like(tape, result, dtype);
    ms_tensor divided = ms_empty_like(tape, result, dtype);
    ms_consume(tape, ms_empty_like(tape, result, MS_DTYPE_BOOL));
    ms_consume(tape, twice);
    ms_tensor mean = ms_empty_like(tape, result, dtype);
    ms_tensor centred = ms_empty_like(tape, input, dtype);
    ms_tensor factor = ms_empty_like(tape, result, dtype);
    out[0] = ms_empty_like(tape, input, dtype);
    ms_consume(tape, factor);
    ms_consume(tape, centred);
    ms_consume(tape, mean);
    ms_consume(tape, divided);
}

static const ms_op std_op = {"std", "StdBackward0", std_backward};

ms_tensor ms_std_last(ms_tape *tape, ms_tensor a)
{
    if (ms_idle(tape) || !a) {
        ms_consume(tape, a);
        return 0;
    }
    ms_op_mark mark = ms_op_begin(tape, &std_op);
    uint32_t node = ms_record(tape, &std_op, 1, &a);
    ms_shape shape = ms_info(tape, a)->shape;
    shape.dims[shape.rank - 1] = (ms_dim){.value = 1};
    ms_save(tape, node, a);
    ms_tensor out = ms_empty(tape, shape, (ms_dtype)ms_info(tape, a)->dtype);
    ms_save(tape, node, out);
    return ms_op_finish(tape, mark, node, 1, &a, out);
}
