/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * PyTorch's optimizers whose states have the parameter's shape: Adam, SGD, RMSprop, Adagrad. Fused
 * kernels need no temporaries, foreach makes whole lists, the loop goes parameter by parameter.
 */
#include "ops/ops.h"
#include "step/optimizer_row.h"

void ms_make_moments(ms_tape *tape, const ms_optimizer_row *row, ms_parameter *parameter)
{
    const ms_tensor_info info = *ms_info(tape, parameter->tensor);
    bool step_on_device = tape->run->optimizer_impl == MS_OPTIMIZER_FUSED || tape->on_cpu;
    if (row->has_step && step_on_device)
        parameter->states[2] =
            ms_optimizer_state(tape, (ms_shape){.rank = 0}, MS_DTYPE_F32, "step");
    for (uint32_t i = 0; i < 2; i++)
        if (row->states[i])
            parameter->states[i] =
                ms_optimizer_state(tape, info.shape, (ms_dtype)info.dtype, row->states[i]);
}

static ms_tensor like_state(ms_tape *tape, const ms_parameter *parameter, uint32_t state)
{
    ms_tensor tensor = parameter->states[state];
    return tensor ? ms_empty_like(tape, tensor, (ms_dtype)ms_info(tape, tensor)->dtype) : 0;
}

/* sqrt(exp_avg_sq) of every parameter. */
void ms_adam_foreach(ms_tape *tape, const ms_stepped *stepped)
{
    ms_tensor_list roots = ms_list_like(tape, stepped, 1);
    if (tape->on_cpu)
        ms_cpu_number(tape, tape->run->dtype); /* eps */
    ms_list_drop(tape, &roots);
}

/* denom = (exp_avg_sq.sqrt() / c).add_(eps): a local that lives until the next parameter's. */
void ms_adam_loop(ms_tape *tape, const ms_stepped *stepped)
{
    ms_frame f = ms_frame_begin(tape);
    ms_tensor *denominator = ms_local(&f, 0);
    for (uint32_t i = 0; i < stepped->count && tape->status == MS_OK; i++) {
        const ms_parameter *parameter = ms_stepped_at(tape, stepped, i);
        ms_tensor root = like_state(tape, parameter, 1);
        ms_tensor quotient = like_state(tape, parameter, 1);
        if (tape->on_cpu)
            ms_cpu_number(tape, (ms_dtype)ms_info(tape, root)->dtype); /* the bias correction */
        ms_consume(tape, root);
        ms_assign(&f, denominator, quotient);
    }
    ms_frame_end(&f, NULL);
}

/* avg = square_avg.sqrt() of every parameter. */
void ms_rmsprop_foreach(ms_tape *tape, const ms_stepped *stepped)
{
    ms_tensor_list roots = ms_list_like(tape, stepped, 0);
    ms_list_drop(tape, &roots);
}

/* The root of the only state: a local, as in Adam's loop. */
void ms_root_loop(ms_tape *tape, const ms_stepped *stepped)
{
    ms_frame f = ms_frame_begin(tape);
    ms_tensor *root = ms_local(&f, 0);
    for (uint32_t i = 0; i < stepped->count && tape->status == MS_OK; i++)
        ms_assign(&f, root, like_state(tape, ms_stepped_at(tape, stepped, i), 0));
    ms_frame_end(&f, NULL);
}

/* std = sqrt(sum), then the numerators: gradients times the learning rate. */
void ms_adagrad_foreach(ms_tape *tape, const ms_stepped *stepped)
{
    ms_tensor_list roots = ms_list_like(tape, stepped, 0);
    ms_tensor_list numerators = ms_list_like(tape, stepped, MS_LIST_OF_GRADIENTS);
    ms_list_drop(tape, &roots);
    ms_list_drop(tape, &numerators);
}
