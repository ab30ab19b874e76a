/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "run/step/accumulation.h"

#include "torch/ops/ops.h"
#include "run/step/optimizer.h"
#include "run/step/run.h"
#include "torch/parallel/parallel.h"
#include "core/trace/build.h"

static void name_gradient(ms_tape *tape, const ms_parameter *parameter, ms_tensor tensor)
{
    uint32_t storage = ms_info(tape, tensor)->storage;
    ms_trace_categorize(tape->trace, storage, MS_CATEGORY_GRADIENT);
    ms_trace_label(tape->trace, storage, parameter->name, parameter->scope);
}

static void drop(ms_tape *tape, ms_parameter *parameter)
{
    ms_tensor grad = parameter->grad;
    parameter->grad = 0;
    ms_release(tape, grad);
}

static ms_tensor new_gradient(ms_tape *tape, const ms_parameter *parameter, ms_tensor like,
                              ms_dtype dtype)
{
    ms_tensor tensor = ms_empty_like(tape, like, dtype);
    ms_retain(tape, tensor);
    if (tensor)
        name_gradient(tape, parameter, tensor);
    return tensor;
}

static const ms_op add_op = {.name = "add_"};

static void add_to_sum(ms_tape *tape, void *context, uint32_t index)
{
    (void)context;
    ms_parameter *parameter = &tape->parameters.items[index];
    ms_dtype dtype = (ms_dtype)ms_info(tape, parameter->tensor)->dtype;
    if (dtype == MS_DTYPE_F32)
        return;
    ms_op_mark mark = ms_op_begin(tape, &add_op);
    ms_op_operand(tape, mark, parameter->grad, false);
    if (!parameter->sum)
        parameter->sum = new_gradient(tape, parameter, parameter->grad, MS_DTYPE_F32);
    else if (tape->on_cpu) /* its kernels compute in one type */
        ms_consume(tape, ms_empty_like(tape, parameter->grad, MS_DTYPE_F32));
    ms_op_operand(tape, mark, parameter->sum, true);
    ms_op_end(tape, mark);
    drop(tape, parameter);
}

void ms_accumulation_build(ms_tape *tape)
{
    if (ms_step_run(tape)->training.accumulation == MS_ACCUMULATE_F32 &&
        !ms_parallel_has_engine(tape))
        ms_hooks_push_gradient(tape, (ms_gradient_hook){.accumulated = add_to_sum});
}

void ms_accumulation_hand_over(ms_tape *tape)
{
    for (uint32_t i = 0; i < tape->parameters.count && tape->status == MS_OK; i++) {
        ms_parameter *parameter = &tape->parameters.items[i];
        if (parameter->sum)
            parameter->grad = new_gradient(tape, parameter, parameter->sum,
                                           (ms_dtype)ms_info(tape, parameter->tensor)->dtype);
    }
}
