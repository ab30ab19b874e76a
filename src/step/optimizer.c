/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * An optimizer is a row: what it keeps per parameter, and whether its update needs a denominator.
 * An implementation decides the temporaries: fused kernels need none, foreach makes whole lists,
 * the plain loop goes parameter by parameter.
 *
 * On the host nothing of it is on the device: for each parameter the gradient goes to the host,
 * where a copy of the parameter is updated and sent back, beside the copies of other parameters.
 */
#include "step/optimizer.h"

#include "ops/ops.h"
#include "tape/engine.h"

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

static uint64_t state_count(const optimizer_row *row)
{
    return (uint64_t)(row->states[0] != NULL) + (row->states[1] != NULL);
}

/* Times of a parameter's bytes that its update moves: parameter and states are read and written,
 * the gradient is read. */
static uint64_t passes_over_bytes(const optimizer_row *row)
{
    return 3 + 2 * state_count(row);
}

static void update_work(ms_tape *tape, const optimizer_row *row, ms_op_mark mark)
{
    double bytes = 0;
    for (uint32_t i = 0; i < tape->parameters.count; i++)
        if (tape->parameters.items[i].grad)
            bytes += (double)ms_tensor_bytes(tape, tape->parameters.items[i].tensor);
    ms_op_work(tape, mark, 0, bytes * (double)passes_over_bytes(row), MS_DTYPE_F32);
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

/* ---- on the host ---- */

/* All gradients set out first; those of parameters that the host keeps are there. What waits is the
 * device, which has nothing else to do. */
static void step_on_host(ms_tape *tape, const optimizer_row *row)
{
    ms_vec(uint32_t) gone = {0}, back = {0};
    uint32_t count = tape->parameters.count;
    bool ok = ms_vec_expect(&gone, count) && ms_vec_expect(&back, count);
    for (uint32_t i = 0; i < count && ok; i++) {
        ms_tensor grad = tape->parameters.items[i].grad;
        uint32_t copy =
            grad ? ms_copy_begin(tape, ms_tensor_bytes(tape, grad), MS_LANE_TO_HOST) : MS_NONE;
        ok = ms_vec_push(&gone, copy);
    }
    for (uint32_t i = 0; i < count && ok && tape->status == MS_OK; i++) {
        bool is_at_home = tape->parameters.items[i].is_at_home;
        if (gone.items[i] == MS_NONE && !is_at_home)
            continue;
        uint64_t bytes = ms_tensor_bytes(tape, tape->parameters.items[i].tensor);
        if (!is_at_home)
            ms_copy_wait(tape, gone.items[i]);
        ms_copy_wait(tape, ms_copy_begin(tape, bytes * passes_over_bytes(row), MS_LANE_HOST));
        if (!is_at_home)
            ok = ms_vec_push(&back, ms_copy_begin(tape, bytes, MS_LANE_TO_DEVICE));
    }
    for (uint32_t i = 0; i < back.count && tape->status == MS_OK; i++)
        ms_copy_wait(tape, back.items[i]);
    if (!ok)
        ms_tape_fail(tape, MS_ERR_NOMEM);
    ms_vec_free(&gone);
    ms_vec_free(&back);
}

uint64_t ms_optimizer_host_bytes(ms_tape *tape)
{
    const optimizer_row *row = &rows[tape->run->optimizer];
    uint64_t bytes = 0;
    if (tape->run->optimizer_device != MS_OPTIMIZER_ON_HOST)
        return 0;
    for (uint32_t i = 0; i < tape->parameters.count; i++)
        bytes += ms_tensor_bytes(tape, tape->parameters.items[i].tensor) * (2 + state_count(row)) +
                 (row->has_step ? ms_dtype_bytes(MS_DTYPE_F32) : 0);
    return bytes;
}

/* ---- on the device ---- */

static void step_on_device(ms_tape *tape, const optimizer_row *row)
{
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

void ms_optimizer_step(ms_tape *tape)
{
    const optimizer_row *row = &rows[tape->run->optimizer];
    if (tape->run->optimizer_device == MS_OPTIMIZER_ON_HOST)
        step_on_host(tape, row);
    else
        step_on_device(tape, row);
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

/* The host works on the gradients that it keeps, and the device waits. */
static void work_at_home(ms_tape *tape, uint64_t passes)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < tape->homes.count; i++)
        bytes += tape->homes.items[i].bytes;
    if (bytes)
        ms_copy_wait(tape, ms_copy_begin(tape, passes * bytes, MS_LANE_HOST));
}

/* One partial result per chunk of the largest gradient on the device for each, in fp32. */
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

typedef ms_vec(ms_tensor) norm_list;

/* One norm for each gradient on the device, or for each that the host keeps. */
static void push_norms(ms_tape *tape, norm_list *norms, bool at_home, ms_dtype dtype)
{
    ms_shape scalar = {.rank = 0};
    for (uint32_t i = 0; i < tape->parameters.count && tape->status == MS_OK; i++) {
        const ms_parameter *parameter = &tape->parameters.items[i];
        bool wanted = at_home ? parameter->is_at_home : parameter->grad != 0;
        if (wanted && !ms_vec_push(norms, ms_empty(tape, scalar, dtype)))
            ms_tape_fail(tape, MS_ERR_NOMEM);
    }
}

static void drop_norms(ms_tape *tape, norm_list *norms, uint32_t left)
{
    while (norms->count > left)
        ms_consume(tape, norms->items[--norms->count]);
}

/* norm = vector_norm(stack(norm.to(device) for norm in foreach_norm(grads))) */
static ms_tensor total_norm(ms_tape *tape, ms_dtype dtype)
{
    norm_list norms = {0};
    ms_shape scalar = {.rank = 0};
    ms_tensor partial =
        tape->on_cpu ? 0 : ms_empty_bytes(tape, norm_buffer_bytes(tape), MS_DTYPE_F32);
    push_norms(tape, &norms, false, dtype);
    ms_consume(tape, partial);
    uint32_t of_device = norms.count;
    push_norms(tape, &norms, true, dtype);
    ms_tensor stacked = ms_empty_bytes(tape, ms_dtype_bytes(dtype) * norms.count, dtype);
    drop_norms(tape, &norms, of_device);
    ms_tensor norm = ms_empty(tape, scalar, dtype);
    ms_consume(tape, stacked);
    drop_norms(tape, &norms, 0);
    ms_vec_free(&norms);
    return norm;
}

void ms_clip_gradients(ms_tape *tape)
{
    enum { NORM_PASSES = 1, SCALE_PASSES = 2 };
    work_at_home(tape, NORM_PASSES);
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
    work_at_home(tape, SCALE_PASSES);
}
