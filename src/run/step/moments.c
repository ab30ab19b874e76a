/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * PyTorch's optimizers whose states have the parameter's shape: Adam, SGD, RMSprop, Adagrad. Fused
 * kernels need no temporaries, foreach allocates whole lists, the loop handles one parameter at a
 * time.
 */
#include "torch/ops/ops.h"
#include "run/step/optimizers/optimizer_lists.h"
#include "run/step/optimizers/optimizer_row.h"
#include "run/step/run.h"

void ms_make_moments(ms_tape *tape, const ms_optimizer_row *row, ms_parameter *parameter)
{
    const ms_tensor_info info = *ms_info(tape, parameter->tensor);
    bool step_on_device =
        ms_step_run(tape)->training.optimizer_impl == MS_OPTIMIZER_FUSED || tape->on_cpu;
    if (row->has_step && step_on_device)
        parameter->states[2] =
            ms_optimizer_state(tape, (ms_shape){.rank = 0}, MS_DTYPE_F32, "step");
    for (uint32_t i = 0; i < 2; i++)
        if (row->states[i])
            parameter->states[i] =
                ms_optimizer_state(tape, info.shape, (ms_dtype)info.dtype, row->states[i]);
}

static ms_tensor like(ms_tape *tape, ms_tensor tensor)
{
    return ms_empty_like(tape, tensor, (ms_dtype)ms_info(tape, tensor)->dtype);
}

/* Decay that is added to the gradient needs another gradient; AdamW's is not. */
static bool adds_decay(const ms_tape *tape, const ms_stepped *stepped)
{
    return stepped->row->adds_decay && ms_step_run(tape)->training.weight_decay > 0;
}

/* ---- foreach ---- */

/* device_grads = torch._foreach_add(device_grads, device_params, alpha=weight_decay) */
static ms_tensor_list decayed_gradients(ms_tape *tape, const ms_stepped *stepped)
{
    ms_tensor_list none = {0};
    return adds_decay(tape, stepped) ? ms_list_like(tape, stepped, MS_LIST_OF_GRADIENTS) : none;
}

/* The first momentum is a clone of the gradient. */
void ms_sgd_foreach(ms_tape *tape, const ms_stepped *stepped)
{
    ms_tensor_list grads = decayed_gradients(tape, stepped);
    for (uint32_t i = 0; i < stepped->count && tape->status == MS_OK; i++)
        ms_optimizer_make_states(tape, stepped->row, ms_stepped_at(tape, stepped, i));
    ms_list_drop(tape, &grads);
}

/* sqrt(exp_avg_sq) of every parameter; the decayed gradients are gone by then. */
void ms_adam_foreach(ms_tape *tape, const ms_stepped *stepped)
{
    ms_tensor_list grads = decayed_gradients(tape, stepped);
    ms_list_drop(tape, &grads);
    ms_tensor_list roots = ms_list_like(tape, stepped, 1);
    if (tape->on_cpu)
        ms_cpu_number(tape, ms_step_run(tape)->dtype); /* eps */
    ms_list_drop(tape, &roots);
}

/* sqrt(square_avg) of every parameter. */
void ms_rmsprop_foreach(ms_tape *tape, const ms_stepped *stepped)
{
    ms_tensor_list grads = decayed_gradients(tape, stepped);
    ms_tensor_list roots = ms_list_like(tape, stepped, 0);
    ms_list_drop(tape, &grads);
    ms_list_drop(tape, &roots);
}

/* The numerators, gradients times the learning rate, are the decayed gradients if there are any. */
void ms_adagrad_foreach(ms_tape *tape, const ms_stepped *stepped)
{
    ms_tensor_list numerators = decayed_gradients(tape, stepped);
    ms_tensor_list roots = ms_list_like(tape, stepped, 0);
    if (!numerators.count)
        numerators = ms_list_like(tape, stepped, MS_LIST_OF_GRADIENTS);
    ms_list_drop(tape, &roots);
    ms_list_drop(tape, &numerators);
}

/* ---- the loop: a local lives until the next parameter's ---- */

typedef struct loop {
    ms_locals frame;
    bool adds_decay;
    ms_tensor *grad, *root;
} loop;

static void loop_begin(ms_tape *tape, const ms_stepped *stepped, loop *l)
{
    l->adds_decay = adds_decay(tape, stepped);
    l->frame = ms_locals_begin(tape);
    l->grad = ms_local(&l->frame, 0);
    l->root = ms_local(&l->frame, 0);
}

/* grad = grads[i], then grad.add(param, alpha=weight_decay) */
static void take_gradient(loop *l, const ms_parameter *parameter)
{
    ms_tape *tape = l->frame.tape;
    ms_assign(&l->frame, l->grad, parameter->grad);
    if (l->adds_decay)
        ms_assign(&l->frame, l->grad, like(tape, parameter->grad));
}

void ms_sgd_loop(ms_tape *tape, const ms_stepped *stepped)
{
    loop l;
    loop_begin(tape, stepped, &l);
    for (uint32_t i = 0; i < stepped->count && tape->status == MS_OK; i++) {
        ms_parameter *parameter = ms_stepped_at(tape, stepped, i);
        take_gradient(&l, parameter);
        ms_optimizer_make_states(tape, stepped->row, parameter);
        if (parameter->states[0])
            ms_assign(&l.frame, l.grad, parameter->states[0]); /* grad = buf */
    }
    ms_locals_end(&l.frame, NULL);
}

/* denom = (exp_avg_sq.sqrt() / c).add_(eps) */
void ms_adam_loop(ms_tape *tape, const ms_stepped *stepped)
{
    loop l;
    loop_begin(tape, stepped, &l);
    for (uint32_t i = 0; i < stepped->count && tape->status == MS_OK; i++) {
        const ms_parameter *parameter = ms_stepped_at(tape, stepped, i);
        take_gradient(&l, parameter);
        ms_tensor root = like(tape, parameter->states[1]);
        ms_tensor quotient = like(tape, parameter->states[1]);
        if (tape->on_cpu)
            ms_cpu_number(tape, (ms_dtype)ms_info(tape, root)->dtype); /* the bias correction */
        ms_consume(tape, root);
        ms_assign(&l.frame, l.root, quotient);
    }
    ms_locals_end(&l.frame, NULL);
}

/* The root of the only state. */
void ms_root_loop(ms_tape *tape, const ms_stepped *stepped)
{
    loop l;
    loop_begin(tape, stepped, &l);
    for (uint32_t i = 0; i < stepped->count && tape->status == MS_OK; i++) {
        const ms_parameter *parameter = ms_stepped_at(tape, stepped, i);
        take_gradient(&l, parameter);
        ms_assign(&l.frame, l.root, like(tape, parameter->states[0]));
    }
    ms_locals_end(&l.frame, NULL);
}
