/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Fused layer normalisation. The RMS norms of the decoder families are composed of plain operators
 * (model/blocks/blocks.c), as the framework's modelling files write them.
 */
#include "torch/ops/ops.h"

/* Input, weight and bias gradients; the kernels read rows. */
static void layer_norm_backward(ms_tape *tape, const ms_node *node, ms_tensor *grads,
                                ms_tensor *out)
{
    ms_tensor input_rows = ms_contiguous_copy(tape, node->saved[node->numbers[0]]);
    for (uint32_t i = 0; i < 3; i++)
        if (ms_node_wants(node, i))
            out[i] = ms_empty(tape, ms_input_meta(tape, node, i)->shape,
                              (ms_dtype)ms_info(tape, grads[0])->dtype);
    ms_consume(tape, ms_contiguous_copy(tape, grads[0]));
    ms_consume(tape, input_rows);
}

static const ms_op layer_norm_op = {"layer_norm", "NativeLayerNormBackward0", layer_norm_backward};

/* Mean and reciprocal deviation are kept in fp32; the CPU kernel keeps them in the dtype of the
 * parameters, without any in the input's. */
static ms_dtype statistics_dtype(ms_tape *tape, ms_tensor x, ms_tensor weight)
{
    return tape->on_cpu ? (ms_dtype)ms_info(tape, weight ? weight : x)->dtype : MS_DTYPE_F32;
}

/* CUDA's autocast normalises in fp32; the CPU's kernel takes an input of another dtype. */
static ms_tensor in_autocast(ms_tape *tape, ms_tensor a)
{
    return tape->on_cpu ? a : ms_autocast_fp32(tape, a);
}

ms_tensor ms_layer_norm(ms_tape *tape, ms_tensor x, ms_tensor weight, ms_tensor bias)
{
    if (ms_idle(tape) || !x) {
        ms_consume(tape, x);
        return 0;
    }
    ms_retain(tape, x);
    ms_tensor cast_bias = in_autocast(tape, bias), cast_weight = in_autocast(tape, weight);
    ms_tensor input = in_autocast(tape, x);
    ms_op_mark mark = ms_op_begin(tape, &layer_norm_op);
    ms_tensor inputs[] = {input, cast_weight, cast_bias};
    uint32_t node = ms_record(tape, &layer_norm_op, 3, inputs);
    ms_node_numbers(tape, node, 1, (uint64_t[]){cast_bias != 0}); /* where the input is */
    ms_save(tape, node, cast_bias);
    ms_save(tape, node, input);
    ms_save(tape, node, cast_weight);
    ms_shape rows = ms_info(tape, input)->shape;
    ms_tensor copy = ms_contiguous_copy(tape, input);
    ms_tensor out = ms_empty(tape, rows, (ms_dtype)ms_info(tape, input)->dtype);
    rows.dims[rows.rank - 1] = (ms_dim){.value = 1};
    ms_dtype statistics = statistics_dtype(tape, input, cast_weight);
    ms_tensor mean = ms_empty(tape, rows, statistics), rstd = ms_empty(tape, rows, statistics);
    ms_save(tape, node, mean);
    ms_save(tape, node, rstd);
    ms_consume(tape, copy);
    ms_consume(tape, mean);
    ms_consume(tape, rstd);
    out = ms_op_finish(tape, mark, node, 3, inputs, out);
    ms_consume(tape, ms_unown(tape, x));
    return out;
}
