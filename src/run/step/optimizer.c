/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The rows of the optimizers, and a step of the run's optimizer: creates missing states, then makes
 * the allocations of its implementation.
 */
#include "run/step/optimizer.h"

#include "run/step/optimizers/optimizer_row.h"
#include "run/step/run.h"
#include "torch/autograd/work.h"
#include "torch/ops/ops.h"
#include "torch/parallel/parallel.h"
#include "torch/treatments/host_parameters.h"

/* ---- optimizer host ---- */

/* Optimizers on the host of a GPU. An optimizer on the host of a GPU: for each parameter the
 * gradient is copied to the host, where a copy of the parameter is updated and copied back,
 * concurrently with the copies of other parameters. It uses no device memory. */

/* A copy of the tensor on the device to the host, or one from there that fills it. */
static uint32_t begin_copy(ms_tape *tape, ms_work_kind kind, ms_tensor tensor)
{
    ms_work copy = ms_work_of(kind, ms_tensor_bytes(tape, tensor));
    uint32_t storage = ms_info(tape, tensor)->storage;
    *(kind == MS_WORK_TO_HOST ? &copy.source : &copy.target) = storage;
    return ms_work_begin(tape, copy);
}

static /* All gradients set out first; those of parameters that the host keeps are there. What waits
        * is the device, which has nothing else to do. */
    void
    optimizer_step_on_host(ms_tape *tape, const ms_optimizer_row *row)
{
    ms_vec(uint32_t) gone = {0}, back = {0};
    uint32_t count = tape->parameters.count;
    bool ok = ms_vec_expect(&gone, count) && ms_vec_expect(&back, count);
    for (uint32_t i = 0; i < count && ok; i++) {
        ms_tensor grad = tape->parameters.items[i].grad;
        ok = ms_vec_push(&gone, grad ? begin_copy(tape, MS_WORK_TO_HOST, grad) : MS_NONE);
    }
    for (uint32_t i = 0; i < count && ok && tape->status == MS_OK; i++) {
        bool is_on_host = ms_host_parameters_has(tape, i);
        if (gone.items[i] == MS_NONE && !is_on_host)
            continue;
        ms_tensor tensor = tape->parameters.items[i].tensor;
        uint64_t bytes = ms_tensor_bytes(tape, tensor) * ms_optimizer_passes(row);
        if (!is_on_host)
            ms_work_wait(tape, gone.items[i]);
        ms_work_wait(tape, ms_work_begin(tape, ms_work_of(MS_WORK_HOST_UPDATE, bytes)));
        if (!is_on_host)
            ok = ms_vec_push(&back, begin_copy(tape, MS_WORK_TO_DEVICE, tensor));
    }
    for (uint32_t i = 0; i < back.count && tape->status == MS_OK; i++)
        ms_work_wait(tape, back.items[i]);
    if (!ok)
        ms_tape_fail(tape, MS_ERR_NOMEM);
    ms_vec_free(&gone);
    ms_vec_free(&back);
}

static uint64_t optimizer_bytes_on_host(ms_tape *tape, const ms_optimizer_row *row)
{
    uint64_t bytes = 0, states = ms_optimizer_state_count(row);
    for (uint32_t i = 0; i < tape->parameters.count; i++) {
        const ms_parameter *parameter = &tape->parameters.items[i];
        uint64_t each = ms_tensor_bytes(tape, parameter->tensor);
        bytes += 2 * each;
        if (parameter->is_reached) /* else it has no gradient on the device either */
            bytes += states * each + (row->has_step ? ms_dtype_bytes(MS_DTYPE_F32) : 0);
    }
    return bytes;
}

/* ---- optimizer ---- */

#define AS_LISTS(foreach, loop)                                                                    \
    {                                                                                              \
        [MS_OPTIMIZER_FOREACH] = (foreach), [MS_OPTIMIZER_LOOP] = (loop)                           \
    }
#define ALWAYS(update)                                                                             \
    {                                                                                              \
        (update), (update), (update)                                                               \
    }
#define TRAINER_BLOCKS(paged, ...)                                                                 \
    {                                                                                              \
        .states = {__VA_ARGS__}, .state_bits = 8, .spares_embeddings = true, .is_paged = (paged),  \
        .make_states = ms_make_blocks                                                              \
    }
#define BLOCKS(bits, paged, ...)                                                                   \
    {                                                                                              \
        .states = {__VA_ARGS__}, .state_bits = (bits), .is_paged = (paged),                        \
        .make_states = ms_make_blocks                                                              \
    }

/* clang-format off */
static const ms_optimizer_row rows[] = {
    [MS_OPTIMIZER_ADAMW] = {.states = {"exp_avg", "exp_avg_sq"}, .has_step = true,
                            .more_passes = 13,
                            .make_states = ms_make_moments,
                            .update = AS_LISTS(ms_adam_foreach, ms_adam_loop)},
    [MS_OPTIMIZER_ADAM] = {.states = {"exp_avg", "exp_avg_sq"}, .has_step = true,
                           .adds_decay = true, .more_passes = 13,
                           .make_states = ms_make_moments,
                           .update = AS_LISTS(ms_adam_foreach, ms_adam_loop)},
    [MS_OPTIMIZER_SGD] = {.adds_decay = true, .make_states = ms_make_moments,
                          .update = AS_LISTS(ms_sgd_foreach, ms_sgd_loop)},
    [MS_OPTIMIZER_SGD_MOMENTUM] = {.states = {"momentum_buffer"}, .adds_decay = true,
                                   .more_passes = 3, .is_made_late = true, .make_states = ms_make_moments,
                                   .update = AS_LISTS(ms_sgd_foreach, ms_sgd_loop)},
    [MS_OPTIMIZER_RMSPROP] = {.states = {"square_avg"}, .has_step = true, .adds_decay = true,
                              .more_passes = 8,
                              .make_states = ms_make_moments,
                              .update = AS_LISTS(ms_rmsprop_foreach, ms_root_loop)},
    [MS_OPTIMIZER_ADAGRAD] = {.states = {"sum"}, .has_step = true, .adds_decay = true,
                              .more_passes = 6, .is_made_early = true,
                              .make_states = ms_make_moments,
                              .update = AS_LISTS(ms_adagrad_foreach, ms_root_loop)},
    [MS_OPTIMIZER_ADAFACTOR] = {.states = {"exp_avg_sq_row", "exp_avg_sq_col"},
                                .is_made_late = true, .make_states = ms_make_trainer_factors,
                                .update = ALWAYS(ms_trainer_adafactor)},
    [MS_OPTIMIZER_ADAFACTOR_TORCH] = {.states = {"row_var", "col_var"}, .has_step = true,
                                      .make_states = ms_make_factors,
                                      .update = AS_LISTS(ms_adafactor_foreach, ms_adafactor_loop)},
    [MS_OPTIMIZER_MUON] = {.states = {"momentum_buffer"}, .make_states = ms_make_moments,
                           .takes = ms_muon_takes, .others = MS_OPTIMIZER_ADAMW,
                           .update = ALWAYS(ms_muon_loop)},
    [MS_OPTIMIZER_LION] = BLOCKS(32, false, "state1"),
    [MS_OPTIMIZER_LION_8BIT] = BLOCKS(8, false, "state1"),
    [MS_OPTIMIZER_PAGED_LION] = BLOCKS(32, true, "state1"),
    [MS_OPTIMIZER_PAGED_LION_8BIT] = BLOCKS(8, true, "state1"),
    [MS_OPTIMIZER_ADAMW_32BIT] = BLOCKS(32, false, "state1", "state2"),
    [MS_OPTIMIZER_ADAMW_8BIT] = BLOCKS(8, false, "state1", "state2"),
    [MS_OPTIMIZER_PAGED_ADAMW] = BLOCKS(32, true, "state1", "state2"),
    [MS_OPTIMIZER_PAGED_ADAMW_8BIT] = BLOCKS(8, true, "state1", "state2"),
    [MS_OPTIMIZER_TRAINER_LION_8BIT] = TRAINER_BLOCKS(false, "state1"),
    [MS_OPTIMIZER_TRAINER_PAGED_LION_8BIT] = TRAINER_BLOCKS(true, "state1"),
    [MS_OPTIMIZER_TRAINER_ADAMW_8BIT] = TRAINER_BLOCKS(false, "state1", "state2"),
    [MS_OPTIMIZER_TRAINER_PAGED_ADAMW_8BIT] = TRAINER_BLOCKS(true, "state1", "state2"),
};
/* clang-format on */
_Static_assert(sizeof rows / sizeof *rows == MS_OPTIMIZER_COUNT, "an optimizer has no row");

static const ms_op optimizer_op = {"optimizer_step", NULL, NULL};

/* ---- one step ---- */

static bool is_taken(ms_tape *tape, const ms_optimizer_row *row, const ms_parameter *parameter)
{
    return !row->takes || row->takes(tape, parameter);
}

/* The row that steps this parameter. */
static const ms_optimizer_row *row_for(ms_tape *tape, const ms_parameter *parameter)
{
    const ms_optimizer_row *row = &rows[ms_step_run(tape)->training.optimizer];
    return is_taken(tape, row, parameter) ? row : &rows[row->others];
}

/* Of each state that has a parameter's size its bytes are read and written; an update in several
 * operators reads and writes them, and its temporaries, again. */
static void update_work(ms_tape *tape, const ms_stepped *stepped, ms_op_mark mark)
{
    bool is_fused = ms_step_run(tape)->training.optimizer_impl == MS_OPTIMIZER_FUSED;
    double bytes = 0;
    for (uint32_t i = 0; i < stepped->count; i++) {
        const ms_parameter *parameter = ms_stepped_at(tape, stepped, i);
        const ms_optimizer_row *row = row_for(tape, parameter);
        double passes = 3 + (is_fused ? 0 : row->more_passes);
        bytes += passes * (double)ms_tensor_bytes(tape, parameter->tensor) +
                 2 * (double)ms_paged_bytes(tape, row, parameter);
        for (uint32_t k = 0; k < 2; k++)
            if (parameter->states[k])
                bytes += 2 * (double)ms_tensor_bytes(tape, parameter->states[k]);
    }
    ms_op_work(tape, mark, 0, bytes, MS_DTYPE_F32);
}

/* Python numbers that an update multiplies or adds on the CPU: the step counter's 1, momentum, the
 * decay; plain SGD's learning rate is only converted. */
static void cpu_numbers(ms_tape *tape, const ms_stepped *stepped)
{
    const ms_optimizer_row *row = stepped->row;
    ms_dtype widest = ms_step_run(tape)->dtype; /* of the parameters */
    for (uint32_t i = 0; i < stepped->count && tape->status == MS_OK; i++) {
        ms_tensor tensor = ms_stepped_at(tape, stepped, i)->tensor;
        widest = ms_promote(widest, (ms_dtype)ms_info(tape, tensor)->dtype);
    }
    if (row->has_step)
        ms_cpu_number(tape, MS_DTYPE_F32);
    else if (row->states[0])
        ms_cpu_number(tape, widest);
    else
        ms_transient(tape, 4, MS_DTYPE_F32);
}

/* DTensor's gradients that are placed otherwise than their parameters, as an operator reads them.
 */
static void place_gradients(ms_tape *tape, const ms_stepped *stepped, ms_tensor_list *list)
{
    for (uint32_t i = 0; i < stepped->count && tape->status == MS_OK; i++) {
        const ms_parameter *parameter = ms_stepped_at(tape, stepped, i);
        if (parameter->redistributes)
            ms_list_push(tape, list,
                         ms_empty_like(tape, parameter->tensor,
                                       (ms_dtype)ms_info(tape, parameter->grad)->dtype));
    }
}

/* AdamW's operators on lists: the first moment reads the gradients once, the second twice. */
static void place_for_lists(ms_tape *tape, const ms_stepped *stepped)
{
    ms_tensor_list list = {0};
    place_gradients(tape, stepped, &list);
    ms_list_drop(tape, &list);
    place_gradients(tape, stepped, &list);
    place_gradients(tape, stepped, &list);
    ms_list_drop(tape, &list);
}

static void step_with(ms_tape *tape, const ms_stepped *stepped)
{
    const ms_optimizer_row *row = stepped->row;
    ms_optimizer_update *update = row->update[ms_step_run(tape)->training.optimizer_impl];
    bool is_made_late = row->is_made_late && update;
    for (uint32_t i = 0; i < stepped->count && tape->status == MS_OK && !is_made_late; i++)
        ms_optimizer_make_states(tape, row, ms_stepped_at(tape, stepped, i));
    ms_op_mark mark = ms_op_begin(tape, &optimizer_op);
    update_work(tape, stepped, mark);
    if (tape->on_cpu)
        cpu_numbers(tape, stepped);
    ms_tensor_list placed = {0};
    if (update)
        place_for_lists(tape, stepped);
    else
        place_gradients(tape, stepped, &placed);
    if (update && tape->status == MS_OK)
        update(tape, stepped);
    ms_list_drop(tape, &placed);
    ms_op_end(tape, mark);
}

/* Steps the parameters of a group with a gradient that the row is for. */
static void step_group(ms_tape *tape, const ms_optimizer_row *row, bool is_distributed)
{
    ms_vec(uint32_t) numbers = {0};
    uint32_t own = 0;
    const uint32_t *some = ms_parallel_stepped(tape, &own);
    for (uint32_t k = 0; k < (some ? own : tape->parameters.count); k++) {
        uint32_t i = some ? some[k] : k;
        const ms_parameter *parameter = &tape->parameters.items[i];
        if (parameter->grad && parameter->is_distributed == is_distributed &&
            row_for(tape, parameter) == row && !ms_vec_push(&numbers, i))
            ms_tape_fail(tape, MS_ERR_NOMEM);
    }
    if (numbers.count || !is_distributed)
        step_with(tape, &(ms_stepped){row, numbers.items, numbers.count});
    ms_vec_free(&numbers);
}

/* Lists of tensors may not mix DTensors with others: they are groups of their own. */
static void step_part(ms_tape *tape, const ms_optimizer_row *row)
{
    step_group(tape, row, true);
    step_group(tape, row, false);
}

static void drop_gradient(ms_tape *tape, ms_parameter *parameter)
{
    ms_tensor grad = parameter->grad;
    parameter->grad = 0;
    ms_release(tape, grad);
}

/* A hook of the parameter, which has an optimizer of its own. */
static void step_in_backward(ms_tape *tape, void *context, uint32_t parameter)
{
    (void)context;
    const ms_optimizer_row *row = row_for(tape, &tape->parameters.items[parameter]);
    step_with(tape, &(ms_stepped){row, &parameter, 1});
    drop_gradient(tape, &tape->parameters.items[parameter]);
}

void ms_optimizer_build(ms_tape *tape)
{
    if (ms_step_run(tape)->training.optimizer_in_backward)
        ms_hooks_push_gradient(tape, (ms_gradient_hook){.accumulated = step_in_backward});
    const ms_optimizer_row *row = &rows[ms_step_run(tape)->training.optimizer];
    uint32_t own = 0;
    const uint32_t *some = ms_parallel_stepped(tape, &own);
    for (uint32_t k = 0; k < (some ? own : tape->parameters.count) && row->is_made_early; k++)
        ms_optimizer_make_states(tape, row, &tape->parameters.items[some ? some[k] : k]);
}

static uint32_t full_states(const ms_optimizer_row *row)
{
    return (row->states[0] ? 1u : 0u) + (row->states[1] ? 1u : 0u);
}

/* Shards that are on the host are updated there; false: there are none. */
static bool step_on_host(ms_tape *tape, const ms_optimizer_row *row)
{
    uint64_t bytes = ms_parallel_on_host(tape).trained_bytes;
    uint64_t passes = 3 + 2 * (uint64_t)full_states(row);
    if (bytes)
        ms_work_wait(tape, ms_work_begin(tape, ms_work_of(MS_WORK_HOST_UPDATE, passes * bytes)));
    return bytes > 0;
}

void ms_optimizer_step(ms_tape *tape)
{
    const ms_optimizer_row *row = &rows[ms_step_run(tape)->training.optimizer];
    tape->on_backward_thread = false;
    if (ms_step_run(tape)->training.optimizer_in_backward)
        return;
    if (step_on_host(tape, row))
        return;
    if (ms_step_run(tape)->training.optimizer_device == MS_OPTIMIZER_ON_HOST) {
        optimizer_step_on_host(tape, row);
        return;
    }
    step_part(tape, row);
    if (row->takes)
        step_part(tape, &rows[row->others]);
}

void ms_zero_grad(ms_tape *tape)
{
    for (uint32_t i = 0; i < tape->parameters.count; i++)
        if (tape->parameters.items[i].is_distributed)
            drop_gradient(tape, &tape->parameters.items[i]);
    for (uint32_t i = 0; i < tape->parameters.count; i++)
        drop_gradient(tape, &tape->parameters.items[i]);
}

/* ---- sizes ---- */

static uint64_t bytes_of(ms_tape *tape, ms_tensor tensor)
{
    return tensor ? ms_tensor_bytes(tape, tensor) : 0;
}

uint64_t ms_optimizer_state_bytes(ms_tape *tape)
{
    if (ms_step_run(tape)->training.optimizer_device == MS_OPTIMIZER_ON_HOST)
        return 0;
    uint64_t bytes = bytes_of(tape, tape->code_maps[0]) + bytes_of(tape, tape->code_maps[1]);
    for (uint32_t i = 0; i < tape->parameters.count; i++) {
        const ms_parameter *parameter = &tape->parameters.items[i];
        bool has_step = parameter->states_made && row_for(tape, parameter)->has_step;
        for (uint32_t k = 0; k < MS_OPTIMIZER_STATES; k++)
            if (!has_step || k != 2)
                bytes += bytes_of(tape, parameter->states[k]);
        bytes += has_step ? ms_dtype_bytes(MS_DTYPE_F32) : 0;
    }
    return bytes;
}

uint64_t ms_optimizer_host_bytes(ms_tape *tape)
{
    const ms_optimizer_row *row = &rows[ms_step_run(tape)->training.optimizer];
    if (ms_step_run(tape)->training.optimizer_device == MS_OPTIMIZER_ON_HOST) {
        uint64_t of_rank = ms_parallel_host_bytes(tape, ms_optimizer_state_count(row));
        return of_rank ? of_rank : optimizer_bytes_on_host(tape, row);
    }
    const ms_parallel_host host = ms_parallel_on_host(tape);
    if (host.weight_bytes) /* and a gradient for each that is trained */
        return host.weight_bytes + (1 + full_states(row)) * host.trained_bytes +
               (row->has_step ? 4 * (uint64_t)host.trained : 0);
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < tape->parameters.count; i++)
        if (tape->parameters.items[i].states_made)
            bytes += ms_paged_bytes(tape, row, &tape->parameters.items[i]);
    return bytes;
}
