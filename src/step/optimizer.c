/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * An optimizer is a row: what it keeps per parameter, and whether its update needs a denominator.
 * An implementation decides the temporaries: fused kernels need none, foreach makes whole lists,
 * the plain loop goes parameter by parameter.
 */
#include "step/optimizer.h"

#include "ops/ops.h"

typedef struct optimizer_row {
    const char *states[2]; /* tensors of the parameter's shape and dtype */
    bool has_step;         /* a 0-dim fp32 counter; on the device only when fused */
    bool has_denominator;  /* sqrt of the second moment is a temporary */
    bool state_from_grad;  /* the first state is a clone of the gradient, made in the first step */
} optimizer_row;

static const optimizer_row rows[] = {
    [MS_OPTIMIZER_ADAMW] = {{"exp_avg", "exp_avg_sq"}, true, true, false},
    [MS_OPTIMIZER_ADAM] = {{"exp_avg", "exp_avg_sq"}, true, true, false},
    [MS_OPTIMIZER_SGD] = {{NULL, NULL}, false, false, false},
    [MS_OPTIMIZER_SGD_MOMENTUM] = {{"momentum_buffer", NULL}, false, false, true},
};
_Static_assert(sizeof rows / sizeof *rows == MS_OPTIMIZER_COUNT, "an optimizer has no row");

static const ms_op optimizer_op = {"optimizer_step", NULL, NULL};

static ms_tensor new_state(ms_tape *tape, const ms_parameter *parameter, const char *name,
                           bool scalar)
{
    ms_shape shape = {.rank = 0};
    const ms_tensor_info info = *ms_info(tape, parameter->tensor);
    tape->new_category = MS_CATEGORY_OPTIMIZER_STATE;
    ms_tensor state =
        ms_empty(tape, scalar ? shape : info.shape, scalar ? MS_DTYPE_F32 : (ms_dtype)info.dtype);
    tape->new_category = MS_CATEGORY_TEMPORARY;
    ms_retain(tape, state);
    ms_name_storage(tape, state, name, MS_CATEGORY_OPTIMIZER_STATE);
    return state;
}

static void create_states(ms_tape *tape, const optimizer_row *row, ms_parameter *parameter)
{
    if (parameter->states_made || !parameter->grad)
        return;
    parameter->states_made = true;
    tape->scope = parameter->scope;
    bool step_on_device = tape->run->optimizer_impl == MS_OPTIMIZER_FUSED || tape->on_cpu;
    if (row->has_step && step_on_device)
        parameter->states[2] = new_state(tape, parameter, "step", true);
    for (uint32_t i = 0; i < 2; i++)
        if (row->states[i])
            parameter->states[i] = new_state(tape, parameter, row->states[i], false);
    tape->scope = MS_NONE;
}

/* sqrt(exp_avg_sq) of every parameter as one list; Python drops a list from its end. */
static void foreach_denominators(ms_tape *tape)
{
    uint32_t count = tape->parameters.count;
    ms_vec(ms_tensor) list = {0};
    for (uint32_t i = 0; i < count && tape->status == MS_OK; i++) {
        const ms_parameter *parameter = &tape->parameters.items[i];
        if (!parameter->grad)
            continue;
        ms_dtype dtype = (ms_dtype)ms_info(tape, parameter->states[1])->dtype;
        if (!ms_vec_push(&list, ms_empty_like(tape, parameter->states[1], dtype)))
            ms_tape_fail(tape, MS_ERR_NOMEM);
    }
    if (tape->on_cpu)
        ms_cpu_number(tape, tape->run->dtype); /* eps */
    while (list.count)
        ms_consume(tape, list.items[--list.count]);
    ms_vec_free(&list);
}

/* denom = (exp_avg_sq.sqrt() / c).add_(eps): a local that lives until the next parameter's. */
static void loop_denominators(ms_tape *tape)
{
    ms_frame f = ms_frame_begin(tape);
    ms_tensor *denominator = ms_local(&f, 0);
    for (uint32_t i = 0; i < tape->parameters.count && tape->status == MS_OK; i++) {
        const ms_parameter *parameter = &tape->parameters.items[i];
        if (!parameter->grad)
            continue;
        ms_dtype dtype = (ms_dtype)ms_info(tape, parameter->states[1])->dtype;
        ms_tensor root = ms_empty_like(tape, parameter->states[1], dtype);
        ms_tensor quotient = ms_empty_like(tape, parameter->states[1], dtype);
        if (tape->on_cpu)
            ms_cpu_number(tape, dtype); /* the bias correction */
        ms_consume(tape, root);
        ms_assign(&f, denominator, quotient);
    }
    ms_frame_end(&f, NULL);
}

/* What the update reads and writes: parameter, gradient and states. */
static void update_work(ms_tape *tape, const optimizer_row *row, ms_op_mark mark)
{
    double bytes = 0;
    for (uint32_t i = 0; i < tape->parameters.count; i++)
        bytes += (double)ms_tensor_bytes(tape, tape->parameters.items[i].tensor);
    double state_count = (row->states[0] != NULL) + (row->states[1] != NULL);
    ms_op_work(tape, mark, 0, bytes * (3 + 2 * state_count), MS_DTYPE_F32);
}

/* Python numbers that an update multiplies or adds on the CPU: the step counter's 1, momentum, the
 * decay; plain SGD's learning rate is only converted. */
static void cpu_numbers(ms_tape *tape, const optimizer_row *row)
{
    if (row->has_step)
        ms_cpu_number(tape, MS_DTYPE_F32);
    else if (row->states[0])
        ms_cpu_number(tape, tape->run->dtype);
    else
        ms_transient(tape, 4, MS_DTYPE_F32);
}

void ms_optimizer_step(ms_tape *tape)
{
    const optimizer_row *row = &rows[tape->run->optimizer];
    for (uint32_t i = 0; i < tape->parameters.count && tape->status == MS_OK; i++)
        create_states(tape, row, &tape->parameters.items[i]);
    ms_op_mark mark = ms_op_begin(tape, &optimizer_op);
    update_work(tape, row, mark);
    if (tape->on_cpu)
        cpu_numbers(tape, row);
    if (row->has_denominator && tape->run->optimizer_impl == MS_OPTIMIZER_FOREACH)
        foreach_denominators(tape);
    if (row->has_denominator && tape->run->optimizer_impl == MS_OPTIMIZER_LOOP)
        loop_denominators(tape);
    ms_op_end(tape, mark);
}

void ms_zero_grad(ms_tape *tape)
{
    for (uint32_t i = 0; i < tape->parameters.count; i++) {
        ms_tensor grad = tape->parameters.items[i].grad;
        tape->parameters.items[i].grad = 0;
        ms_release(tape, grad);
    }
}

/* ---- clipping ---- */

static const ms_op clip_op = {"clip_grad_norm", NULL, NULL};
enum { NORM_CHUNK_ELEMENTS = 65536 };

/* One partial result per chunk of the largest gradient for every gradient, in fp32. */
static uint64_t norm_buffer_bytes(ms_tape *tape)
{
    uint64_t most = 0, count = 0;
    for (uint32_t i = 0; i < tape->parameters.count; i++) {
        ms_tensor grad = tape->parameters.items[i].grad;
        if (!grad)
            continue;
        uint64_t elements = ms_elements(&ms_info(tape, grad)->shape);
        most = elements > most ? elements : most;
        count++;
    }
    return 4 * count * ((most + NORM_CHUNK_ELEMENTS - 1) / NORM_CHUNK_ELEMENTS);
}

/* norm = vector_norm(stack(foreach_norm(grads))) */
static ms_tensor total_norm(ms_tape *tape, ms_dtype dtype)
{
    ms_vec(ms_tensor) norms = {0};
    ms_shape scalar = {.rank = 0};
    ms_tensor partial =
        tape->on_cpu ? 0 : ms_empty_bytes(tape, norm_buffer_bytes(tape), MS_DTYPE_F32);
    for (uint32_t i = 0; i < tape->parameters.count && tape->status == MS_OK; i++)
        if (tape->parameters.items[i].grad && !ms_vec_push(&norms, ms_empty(tape, scalar, dtype)))
            ms_tape_fail(tape, MS_ERR_NOMEM);
    ms_consume(tape, partial);
    ms_tensor stacked = ms_empty_bytes(tape, ms_dtype_bytes(dtype) * norms.count, dtype);
    ms_tensor norm = ms_empty(tape, scalar, dtype);
    ms_consume(tape, stacked);
    while (norms.count)
        ms_consume(tape, norms.items[--norms.count]);
    ms_vec_free(&norms);
    return norm;
}

void ms_clip_gradients(ms_tape *tape)
{
    ms_op_mark mark = ms_op_begin(tape, &clip_op);
    ms_dtype dtype = tape->run->dtype;
    ms_shape scalar = {.rank = 0};
    ms_tensor norm = total_norm(tape, dtype);
    ms_tensor sum = ms_empty(tape, scalar, dtype);
    ms_tensor reciprocal = ms_empty(tape, scalar, dtype);
    ms_tensor coefficient = ms_empty(tape, scalar, dtype);
    ms_consume(tape, reciprocal);
    ms_consume(tape, sum);
    ms_tensor clamped = ms_empty(tape, scalar, dtype);
    ms_consume(tape, coefficient);
    ms_consume(tape, clamped);
    ms_consume(tape, norm);
    ms_op_end(tape, mark);
}
