/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Selecting assignments without a solver.
 */
#include "decide/plan/choose/choose_heuristics.h"

#include <inttypes.h>
#include <math.h>

#include "decide/plan/choose/choose.h"

ms_status ms_assignment_keep_all(ms_arena *arena, const ms_cost_model *costs,
                                 ms_assignment *assignment, ms_error *err)
{
    *assignment = (ms_assignment){.options = ms_arena_array(arena, uint32_t, costs->layer_count)};
    return assignment->options ? MS_OK
                               : ms_fail(err, MS_ERR_NOMEM, "out of memory for %" PRIu32 " layers",
                                         costs->layer_count);
}

ms_status ms_assignment_checkpoint_all(ms_arena *arena, const ms_cost_model *costs, uint32_t loss,
                                       ms_assignment *assignment, ms_error *err)
{
    ms_status status = ms_assignment_keep_all(arena, costs, assignment, err);
    if (status == MS_OK)
        ms_assignment_fill(costs, MS_OPTION_CHECKPOINT, assignment);
    assignment->loss = loss;
    return status;
}

static ms_status finish_simple(const ms_choose_task *task, ms_chosen *chosen)
{
    chosen->has_assignment =
        ms_assignment_sum(task->costs, &chosen->assignment).level_bytes <= task->limit_bytes;
    chosen->outcome = chosen->has_assignment ? MS_SOLVER_PROVEN : MS_SOLVER_INFEASIBLE;
    chosen->bound = 0;
    return MS_OK;
}

/* Tries `option` for `layer` (for the loss, when layer is the number of layers): how many bytes the
 * peak falls for each ms. */
static double worth(const ms_cost_model *costs, ms_assignment *assignment, uint32_t layer,
                    uint32_t option, ms_cost_sum now)
{
    uint32_t *place = layer == costs->layer_count ? &assignment->loss : &assignment->options[layer];
    uint32_t before = *place;
    *place = option;
    const ms_cost_limits lower = {UINT64_MAX, now.level_bytes - 1, UINT64_MAX, INFINITY};
    ms_cost_sum then = ms_assignment_sum_within(costs, assignment, &lower);
    *place = before;
    if (isinf(then.step_ms))
        return 0;
    double ms = fmax(then.step_ms - now.step_ms, 1e-6);
    return (double)(now.level_bytes - then.level_bytes) / ms;
}

typedef struct step {
    double worth;
    uint32_t layer, option;
} step;

static void offer(const ms_choose_task *task, ms_assignment *assignment, uint32_t layer,
                  ms_cost_sum now, step *best)
{
    const ms_cost_model *costs = task->costs;
    bool is_loss = layer == costs->layer_count;
    uint32_t count = is_loss ? costs->loss_count : costs->option_count;
    for (uint32_t o = 0; o < count; o++) {
        if (is_loss ? !ms_loss_allowed(task, o)
                    : !ms_treatment_allowed(&costs->options[o].treatment, task->techniques))
            continue;
        double value = worth(costs, assignment, layer, o, now);
        if (value > best->worth)
            *best = (step){value, layer, o};
    }
}

ms_status ms_choose_greedy(ms_arena *arena, const ms_choose_task *task, ms_chosen *chosen,
                           ms_error *err)
{
    const ms_cost_model *costs = task->costs;
    ms_status status = ms_assignment_keep_all(arena, costs, &chosen->assignment, err);
    if (status != MS_OK)
        return status;
    uint32_t next = 0; /* the first layer that is kept as it is */
    for (;;) {
        ms_cost_sum now = ms_assignment_sum(costs, &chosen->assignment);
        step best = {0};
        if (now.level_bytes <= task->limit_bytes)
            break;
        if (next < costs->layer_count)
            offer(task, &chosen->assignment, next, now, &best);
        else
            for (uint32_t i = 0; i < costs->layer_count && best.worth <= 0; i++)
                offer(task, &chosen->assignment, i, now, &best);
        offer(task, &chosen->assignment, costs->layer_count, now, &best);
        if (best.worth <= 0 && next >= costs->layer_count)
            break;
        if (best.worth <= 0 || best.layer == next)
            next++;
        if (best.worth > 0 && best.layer == costs->layer_count)
            chosen->assignment.loss = best.option;
        else if (best.worth > 0)
            chosen->assignment.options[best.layer] = best.option;
    }
    return finish_simple(task, chosen);
}

ms_status ms_choose_uniform(ms_arena *arena, const ms_choose_task *task, ms_chosen *chosen,
                            ms_error *err)
{
    const ms_cost_model *costs = task->costs;
    ms_assignment tried;
    ms_status status = ms_assignment_keep_all(arena, costs, &chosen->assignment, err);
    if (status == MS_OK)
        status = ms_assignment_keep_all(arena, costs, &tried, err);
    if (status != MS_OK)
        return status;
    double best = INFINITY;
    uint32_t best_option = 0;
    for (uint32_t o = 0; o < costs->option_count; o++)
        for (tried.loss = 0; tried.loss < costs->loss_count; tried.loss++) {
            if (!ms_treatment_allowed(&costs->options[o].treatment, task->techniques) ||
                !ms_loss_allowed(task, tried.loss))
                continue;
            ms_assignment_fill(costs, o, &tried);
            ms_cost_sum sum = ms_assignment_sum(costs, &tried);
            if (sum.level_bytes > task->limit_bytes || sum.step_ms >= best)
                continue;
            best = sum.step_ms;
            best_option = o;
            chosen->assignment.loss = tried.loss;
        }
    ms_assignment_fill(costs, best_option, &chosen->assignment);
    return finish_simple(task, chosen);
}
