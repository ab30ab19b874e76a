/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Ways to choose without a solver.
 */
#include "plan/costs/choose_simply.h"

#include <inttypes.h>
#include <math.h>

#include "plan/costs/choose.h"

ms_status ms_choice_new(ms_arena *arena, const ms_stack *stack, ms_stack_choice *choice,
                        ms_error *err)
{
    *choice = (ms_stack_choice){.options = ms_arena_array(arena, uint32_t, stack->layer_count)};
    return choice->options ? MS_OK
                           : ms_fail(err, MS_ERR_NOMEM, "out of memory for %" PRIu32 " layers",
                                     stack->layer_count);
}

ms_status ms_choice_checkpoints(ms_arena *arena, const ms_stack *stack, uint32_t loss,
                                ms_stack_choice *choice, ms_error *err)
{
    ms_status status = ms_choice_new(arena, stack, choice, err);
    for (uint32_t i = 0; status == MS_OK && i < stack->layer_count; i++)
        choice->options[i] = MS_OPTION_CHECKPOINT;
    choice->loss = loss;
    return status;
}

static ms_status finish_simple(const ms_choose_task *task, ms_chosen *chosen)
{
    chosen->has_choice =
        ms_stack_count(task->stack, &chosen->choice).level_bytes <= task->limit_bytes;
    chosen->outcome = chosen->has_choice ? MS_SOLVER_PROVEN : MS_SOLVER_INFEASIBLE;
    chosen->bound = 0;
    return MS_OK;
}

/* Tries `option` for `layer` (for the loss, when layer is the number of layers): how many bytes the
 * peak falls for each ms. */
static double worth(const ms_stack *stack, ms_stack_choice *choice, uint32_t layer, uint32_t option,
                    ms_stack_sum now)
{
    uint32_t *place = layer == stack->layer_count ? &choice->loss : &choice->options[layer];
    uint32_t before = *place;
    *place = option;
    ms_stack_sum then = ms_stack_count(stack, choice);
    *place = before;
    if (then.level_bytes >= now.level_bytes)
        return 0;
    double ms = fmax(then.step_ms - now.step_ms, 1e-6);
    return (double)(now.level_bytes - then.level_bytes) / ms;
}

typedef struct step {
    double worth;
    uint32_t layer, option;
} step;

static void offer(const ms_choose_task *task, ms_stack_choice *choice, uint32_t layer,
                  ms_stack_sum now, step *best)
{
    const ms_stack *stack = task->stack;
    bool is_loss = layer == stack->layer_count;
    uint32_t count = is_loss ? stack->loss_count : stack->option_count;
    for (uint32_t o = 0; o < count; o++) {
        if (is_loss ? !ms_loss_allowed(task, o)
                    : !ms_treatment_allowed(&stack->options[o].treatment, task->techniques))
            continue;
        double value = worth(stack, choice, layer, o, now);
        if (value > best->worth)
            *best = (step){value, layer, o};
    }
}

ms_status ms_choose_greedy(ms_arena *arena, const ms_choose_task *task, ms_chosen *chosen,
                           ms_error *err)
{
    const ms_stack *stack = task->stack;
    ms_status status = ms_choice_new(arena, stack, &chosen->choice, err);
    if (status != MS_OK)
        return status;
    uint32_t next = 0; /* the first layer that is kept as it is */
    for (;;) {
        ms_stack_sum now = ms_stack_count(stack, &chosen->choice);
        step best = {0};
        if (now.level_bytes <= task->limit_bytes)
            break;
        if (next < stack->layer_count)
            offer(task, &chosen->choice, next, now, &best);
        else
            for (uint32_t i = 0; i < stack->layer_count && best.worth <= 0; i++)
                offer(task, &chosen->choice, i, now, &best);
        offer(task, &chosen->choice, stack->layer_count, now, &best);
        if (best.worth <= 0 && next >= stack->layer_count)
            break;
        if (best.worth <= 0 || best.layer == next)
            next++;
        if (best.worth > 0 && best.layer == stack->layer_count)
            chosen->choice.loss = best.option;
        else if (best.worth > 0)
            chosen->choice.options[best.layer] = best.option;
    }
    return finish_simple(task, chosen);
}

ms_status ms_choose_uniform(ms_arena *arena, const ms_choose_task *task, ms_chosen *chosen,
                            ms_error *err)
{
    const ms_stack *stack = task->stack;
    ms_stack_choice tried;
    ms_status status = ms_choice_new(arena, stack, &chosen->choice, err);
    if (status == MS_OK)
        status = ms_choice_new(arena, stack, &tried, err);
    if (status != MS_OK)
        return status;
    double best = INFINITY;
    uint32_t best_option = 0;
    for (uint32_t o = 0; o < stack->option_count; o++)
        for (tried.loss = 0; tried.loss < stack->loss_count; tried.loss++) {
            if (!ms_treatment_allowed(&stack->options[o].treatment, task->techniques) ||
                !ms_loss_allowed(task, tried.loss))
                continue;
            for (uint32_t i = 0; i < stack->layer_count; i++)
                tried.options[i] = o;
            ms_stack_sum sum = ms_stack_count(stack, &tried);
            if (sum.level_bytes > task->limit_bytes || sum.step_ms >= best)
                continue;
            best = sum.step_ms;
            best_option = o;
            chosen->choice.loss = tried.loss;
        }
    for (uint32_t i = 0; i < stack->layer_count; i++)
        chosen->choice.options[i] = best_option;
    return finish_simple(task, chosen);
}
