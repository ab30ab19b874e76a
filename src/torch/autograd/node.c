/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Operator executions in the trace, and nodes with their saved tensors.
 */
#include <string.h>

#include "torch/autograd/tape.h"
#include "core/trace/build.h"

/* ---- operator executions ---- */

static void record_begin(ms_tape *tape, const ms_op *op, ms_op_mark *mark)
{
    ms_op_exec exec = {.name = tape->in_backward && op->node_name ? op->node_name : op->name,
                       .scope = tape->scope,
                       .pass = tape->pass,
                       .phase = tape->phase,
                       .matmul_dtype = MS_DTYPE_F32,
                       .repeats = tape->repeats};
    mark->op = ms_trace_begin_op(tape->trace, exec);
    if (mark->op == MS_NONE) {
        ms_tape_fail(tape, MS_ERR_NOMEM);
        return;
    }
    tape->current_op = mark->op;
    mark->outermost = true;
}

ms_op_mark ms_op_begin(ms_tape *tape, const ms_op *op)
{
    ms_op_mark mark = {.op = MS_NONE};
    if (ms_idle(tape) || !op->name)
        return mark;
    mark.is_counted = true;
    if (tape->op_depth++ > 0)
        return mark;
    mark.is_hooked = tape->hooks.operators.count > 0;
    if (mark.is_hooked)
        ms_hooks_op_begins(tape, op);
    if (tape->recording && !tape->muted)
        record_begin(tape, op, &mark);
    return mark;
}

void ms_op_draws(ms_tape *tape, ms_op_mark mark)
{
    if (mark.outermost && !ms_idle(tape))
        tape->trace->ops.items[mark.op].is_random = true;
}

static uint64_t bytes_of(const ms_tensor_info *info)
{
    uint64_t bytes = ms_dtype_bytes((ms_dtype)info->dtype);
    for (uint32_t i = 0; i < info->shape.rank; i++)
        bytes *= info->shape.dims[i].value;
    return bytes;
}

void ms_op_operand(ms_tape *tape, ms_op_mark mark, ms_tensor tensor, bool is_output)
{
    if (!mark.outermost || !tensor || ms_idle(tape))
        return;
    const ms_tensor_info *info = ms_info(tape, tensor);
    if (!tape->keeps_operands) {
        ms_trace_add_traffic(tape->trace, mark.op, bytes_of(info));
        return;
    }
    ms_operand operand = {.storage = info->storage,
                          .rank = (uint8_t)info->shape.rank,
                          .dtype = info->dtype,
                          .is_output = is_output};
    for (uint32_t i = 0; i < info->shape.rank; i++) {
        operand.symbols[i] = info->shape.dims[i].symbol;
        operand.sizes[i] = info->shape.dims[i].value;
    }
    if (!ms_trace_add_operand(tape->trace, mark.op, operand))
        ms_tape_fail(tape, MS_ERR_NOMEM);
}

void ms_op_work(ms_tape *tape, ms_op_mark mark, double flops, double traffic_bytes, ms_dtype dtype)
{
    if (mark.outermost && !ms_idle(tape))
        ms_trace_add_cost(tape->trace, mark.op, flops, traffic_bytes, dtype);
}

void ms_op_product(ms_tape *tape, ms_op_mark mark, ms_gemm product)
{
    if (mark.outermost && !ms_idle(tape) && !ms_trace_add_product(tape->trace, mark.op, product))
        ms_tape_fail(tape, MS_ERR_NOMEM);
}

void ms_op_end(ms_tape *tape, ms_op_mark mark)
{
    if (mark.is_counted)
        tape->op_depth--;
    if (mark.is_hooked)
        ms_hooks_op_ends(tape);
    if (!mark.outermost)
        return;
    tape->current_op = MS_NONE;
    if (!ms_trace_add_event(tape->trace, MS_EVENT_OP_END, mark.op))
        ms_tape_fail(tape, MS_ERR_NOMEM);
}

/* ---- nodes ---- */

static ms_edge edge_of(ms_tape *tape, ms_tensor input)
{
    ms_edge none = {.node = MS_NONE, .leaf = MS_NONE};
    if (!input)
        return none;
    const ms_tensor_info *info = ms_info(tape, input);
    if (!info->requires_grad)
        return none;
    return (ms_edge){.node = info->node, .leaf = info->leaf, .output = info->node_output};
}

static bool any_needs_grad(ms_tape *tape, uint32_t count, const ms_tensor *inputs)
{
    for (uint32_t i = 0; i < count; i++)
        if (ms_needs_grad(tape, inputs[i]))
            return true;
    return false;
}

uint32_t ms_record(ms_tape *tape, const ms_op *op, uint32_t input_count, const ms_tensor *inputs)
{
    if (ms_idle(tape) || !any_needs_grad(tape, input_count, inputs))
        return MS_NONE;
    if (!ms_vec_reserve(&tape->nodes)) {
        ms_tape_fail(tape, MS_ERR_NOMEM);
        return MS_NONE;
    }
    ms_node *node = &tape->nodes.items[tape->nodes.count];
    node->op = op;
    node->scope = tape->scope;
    node->module = tape->module;
    node->edge_count = (uint8_t)input_count;
    node->output_count = node->saved_count = 0;
    node->hooks = MS_NONE;
    node->first_meta = tape->metas.count;
    node->dependencies = 0;
    node->visited = false;
    node->is_distributed = tape->is_distributed;
    for (uint32_t i = 0; i < input_count; i++) {
        node->edges[i] = edge_of(tape, inputs[i]);
        ms_meta meta = {0};
        if (inputs[i]) {
            meta.shape = ms_info(tape, inputs[i])->shape;
            meta.dtype = ms_info(tape, inputs[i])->dtype;
        }
        if (!ms_vec_push(&tape->metas, meta)) {
            ms_tape_fail(tape, MS_ERR_NOMEM);
            return MS_NONE;
        }
    }
    return tape->nodes.count++;
}

void ms_save_in_passing(ms_tape *tape, ms_tensor tensor)
{
    if (tensor && tape->grad_enabled && !ms_idle(tape) &&
        ms_hooks_saving(tape) == MS_SAVING_TENSORS)
        tape->passing_saved_bytes += ms_tensor_bytes(tape, tensor);
}

void ms_node_numbers(ms_tape *tape, uint32_t node, uint32_t count, const uint64_t *numbers)
{
    if (node != MS_NONE)
        memcpy(tape->nodes.items[node].numbers, numbers, count * sizeof *numbers);
}

void ms_mark_saved(ms_tape *tape, ms_tensor tensor)
{
    ms_trace_save(tape->trace, ms_info(tape, tensor)->storage);
}

void ms_save(ms_tape *tape, uint32_t node_index, ms_tensor tensor)
{
    if (node_index == MS_NONE || !tensor || ms_idle(tape))
        return;
    uint32_t packed = MS_NONE;
    bool is_packed = ms_hooks_pack(tape, tensor, &packed);
    ms_node *node = &tape->nodes.items[node_index];
    if (is_packed) {
        node->hooks = tape->hooks.saved_top;
    } else {
        ms_mark_saved(tape, tensor);
        ms_retain(tape, tensor);
    }
    node->packed[node->saved_count] = packed;
    node->saved[node->saved_count++] = is_packed ? 0 : tensor;
}

void ms_save_number(ms_tape *tape, uint32_t node_index, ms_tensor tensor)
{
    if (node_index == MS_NONE || !tensor || ms_idle(tape))
        return;
    ms_node *node = &tape->nodes.items[node_index];
    ms_retain(tape, tensor);
    node->packed[node->saved_count] = MS_NONE;
    node->saved[node->saved_count++] = tensor;
}

void ms_attach(ms_tape *tape, uint32_t node_index, uint32_t output_count, const ms_tensor *outputs)
{
    if (node_index == MS_NONE || ms_idle(tape))
        return;
    ms_node *node = &tape->nodes.items[node_index];
    node->output_count = (uint16_t)output_count;
    node->first_buffer = tape->buffers.count;
    for (uint32_t i = 0; i < output_count; i++) {
        ms_tensor_info *info = ms_info(tape, outputs[i]);
        info->node = node_index;
        info->node_output = (uint16_t)i;
        info->requires_grad = true;
        if (!ms_vec_push(&tape->buffers, 0u))
            ms_tape_fail(tape, MS_ERR_NOMEM);
    }
}

ms_tensor ms_op_finish(ms_tape *tape, ms_op_mark mark, uint32_t node, uint32_t input_count,
                       const ms_tensor *inputs, ms_tensor out)
{
    ms_attach(tape, node, 1, &out);
    for (uint32_t i = 0; i < input_count; i++)
        ms_op_operand(tape, mark, inputs[i], false);
    ms_op_operand(tape, mark, out, true);
    ms_op_end(tape, mark);
    if (tape->stopped) {
        ms_consume(tape, out);
        out = 0;
    }
    for (uint32_t i = 0; i < input_count; i++)
        ms_consume(tape, inputs[i]);
    return out;
}
