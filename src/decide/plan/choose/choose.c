/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "decide/plan/choose/choose.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "decide/plan/choose/choose_task.h"
#include "decide/plan/choose/cost_problem.h"
#include "decide/plan/choose/cost_queues.h"
#include "decide/plan/choose/improve.h"
#include "decide/plan/solver/problem.h"

/* ---- choose heuristics ---- */

/* Selecting assignments without a solver. */

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

/* ---- the mixed-integer problem ---- */

/* The relaxed problem tells what each block costs at least. Only blocks whose price is below a
 * share of its cost are offered, few at first: what leaves the others out is proven to be the best
 * if it costs no more than they would. */
static const double shares[] = {0.001, 0.01, INFINITY};
enum { SHARES = sizeof shares / sizeof shares[0] };

/* Beyond that the lowest peak in whole layers takes long to find. */
enum { MANY_BLOCKS = 200 };

/* With rows added each time; on the way, what an assignment misses the recount sees. */
enum { MOST_ROUNDS = 24, FEW_ROUNDS = 8 };

typedef struct choosing {
    ms_arena *arena;
    ms_cost_problem costs;
    const ms_cost_block *blocks; /* all of them */
    double *prices;              /* of each */
    uint32_t block_count;
    ms_deadline limit;
    double relaxed;  /* the relaxed problem's cost */
    double cost;     /* of the assignment */
    bool is_rounded; /* the assignment is, and integers may soon do better */
    ms_chosen *chosen;
    ms_error *err;
} choosing;

static ms_solver_options solver_options(const choosing *c)
{
    const ms_choose_task *task = c->costs.task;
    return (ms_solver_options){.gap = task->gap,
                               .time_limit_s = ms_deadline_left_s(&c->limit),
                               .stop = task->stop,
                               .memory_mib = 1024,
                               .nodes = task->nodes,
                               .has_few_cuts = task->is_rough};
}

static ms_status keep_blocks(choosing *c)
{
    size_t count = c->block_count = c->costs.block_count;
    ms_cost_block *blocks = ms_arena_array(c->arena, ms_cost_block, count);
    c->prices = ms_arena_array(c->arena, double, count);
    if (!blocks || !c->prices)
        return ms_fail(c->err, MS_ERR_NOMEM, "out of memory for the plan's blocks");
    memcpy(blocks, c->costs.blocks, count * sizeof *blocks);
    c->blocks = blocks;
    return MS_OK;
}

typedef ms_status (*problem_solver)(const ms_problem *problem, const ms_solver_options *options,
                                    ms_solution *solution, ms_error *err);

/* Solves again with rows that the solution did not meet. *met: it meets all. A relaxed cost is a
 * bound with the rows that there were, whatever becomes of the next round. */
static ms_status solve(choosing *c, problem_solver with, ms_solution *solution, bool *met)
{
    bool is_relaxed = with == ms_problem_relax;
    int rounds = !is_relaxed && c->costs.task->is_rough ? FEW_ROUNDS : MOST_ROUNDS;
    ms_status status = MS_OK;
    *met = false;
    for (int i = 0; i < rounds && status == MS_OK && !*met; i++) {
        const ms_solver_options options = solver_options(c);
        ms_solution_free(solution);
        ms_cost_problem_build(&c->costs);
        status = with(&c->costs.problem, &options, solution, c->err);
        if (status != MS_OK || !solution->has_solution)
            break;
        if (is_relaxed)
            c->relaxed = solution->objective;
        uint32_t queues = 0;
        if (is_relaxed && !c->costs.task->has_no_queues)
            status = ms_cost_queues_find(c->arena, &c->costs, solution, &queues, c->err);
        *met = ms_cost_levels_unmet(&c->costs, solution) + queues == 0;
        if (ms_deadline_reached(&c->limit))
            break;
    }
    return status;
}

static bool is_proven(const choosing *c)
{
    return isfinite(c->cost) && c->cost - c->chosen->bound <= c->costs.task->gap * fabs(c->cost);
}

/* What an assignment costs: unknown when it does not meet all rows. */
static double cost_of(const choosing *c, const ms_solution *solution, bool met,
                      const ms_assignment *assignment)
{
    if (c->costs.task->aim == MS_LEAST_PEAK)
        return (double)ms_assignment_sum(c->costs.costs, assignment).level_bytes / MS_MIB;
    if (c->costs.has_waits)
        return ms_assignment_cost(c->costs.task, assignment, INFINITY);
    return met ? solution->objective : INFINITY;
}

/* Sums of layers, of all that a search may take. */
enum { MOST_LAYER_SUMS = 600000, FEW_LAYER_SUMS = 150000 };

static uint32_t evaluations(const choosing *c)
{
    uint32_t sums = c->costs.task->is_rough ? FEW_LAYER_SUMS : MOST_LAYER_SUMS;
    return sums / c->costs.costs->layer_count;
}

/* The solution's assignment, if there is none that costs less. */
static ms_status take(choosing *c, const ms_solution *solution, bool met, bool is_rounded)
{
    ms_assignment assignment;
    ms_status status = ms_assignment_keep_all(c->arena, c->costs.costs, &assignment, c->err);
    if (status != MS_OK)
        return status;
    ms_cost_problem_read(&c->costs, solution, &assignment);
    if (c->costs.has_waits && c->costs.task->aim == MS_LEAST_TIME)
        status = ms_assignment_improve(c->arena, &c->costs, evaluations(c), 1, &assignment, c->err);
    if (status != MS_OK)
        return status;
    double cost = cost_of(c, solution, met, &assignment);
    if (c->chosen->has_assignment && cost >= c->cost)
        return MS_OK;
    if (is_rounded && isinf(cost))
        return MS_OK;
    c->chosen->has_assignment = true;
    c->chosen->assignment = assignment;
    c->cost = cost;
    return MS_OK;
}

/* Rounded, what has the lowest peak without integers has about that peak; what is fastest is
 * improved within the limits. */
static ms_status take_rounded(choosing *c, const ms_solution *relaxed)
{
    bool is_peak = c->costs.task->aim == MS_LEAST_PEAK;
    if (!is_peak && !c->costs.has_waits)
        return MS_OK;
    ms_status status = take(c, relaxed, true, true);
    c->is_rounded = is_peak && c->block_count <= MANY_BLOCKS;
    if (status == MS_OK && is_proven(c))
        c->chosen->outcome = MS_SOLVER_PROVEN;
    return status;
}

/* What is infeasible without integers is so with them. Where the solver has no answer all prices
 * stay 0. */
static ms_status relax(choosing *c)
{
    ms_solution relaxed = {0};
    bool met;
    ms_status status = solve(c, ms_problem_relax, &relaxed, &met);
    if (status == MS_OK)
        status = keep_blocks(c);
    bool has_none = relaxed.outcome == MS_SOLVER_INFEASIBLE;
    c->chosen->outcome = has_none ? MS_SOLVER_INFEASIBLE : MS_SOLVER_LIMIT;
    c->chosen->bound = c->relaxed;
    if (status == MS_OK && relaxed.has_solution) {
        for (uint32_t i = 0; i < c->block_count; i++)
            c->prices[i] = ms_cost_block_price(&c->costs.blocks[i], &relaxed);
        status = take_rounded(c, &relaxed);
    }
    ms_solution_free(&relaxed);
    return status;
}

static void offer_blocks(choosing *c, double most)
{
    c->costs.block_count = 0;
    for (uint32_t i = 0; i < c->block_count; i++)
        if (c->prices[i] <= most)
            c->costs.blocks[c->costs.block_count++] = c->blocks[i];
}

/* Chooses among blocks up to this price. What has others costs at least as much more. */
static ms_status choose_below(choosing *c, double most)
{
    ms_chosen *chosen = c->chosen;
    ms_solution solution = {0};
    bool met;
    offer_blocks(c, most);
    ms_status status = solve(c, ms_problem_solve, &solution, &met);
    if (status == MS_OK) {
        bool has_none = solution.outcome == MS_SOLVER_INFEASIBLE;
        double bound = fmin(has_none ? INFINITY : solution.bound, c->relaxed + most);
        chosen->bound = fmax(chosen->bound, bound);
        if (solution.has_solution)
            status = take(c, &solution, met, false);
        c->is_rounded = false;
        chosen->outcome = has_none && isinf(most) ? MS_SOLVER_INFEASIBLE : MS_SOLVER_LIMIT;
        if (chosen->has_assignment && is_proven(c))
            chosen->outcome = MS_SOLVER_PROVEN;
    }
    ms_solution_free(&solution);
    return status;
}

/* Nothing better is to be found, or an assignment will do. */
static bool is_enough(const choosing *c)
{
    const ms_choose_task *task = c->costs.task;
    const ms_chosen *chosen = c->chosen;
    return chosen->outcome != MS_SOLVER_LIMIT || ms_chosen_is_no_better(task, chosen) ||
           (task->is_rough && chosen->has_assignment && !c->is_rounded) ||
           ms_deadline_reached(&c->limit);
}

bool ms_chosen_is_no_better(const ms_choose_task *task, const ms_chosen *chosen)
{
    return task->aim == MS_LEAST_TIME && task->best_ms > 0 && chosen->bound >= task->best_ms;
}

static ms_status choose(choosing *c)
{
    ms_status status = relax(c);
    int last = c->costs.task->is_rough ? SHARES - 1 : SHARES; /* all of them take long */
    for (int i = 0; i < last && status == MS_OK && !is_enough(c); i++)
        status = choose_below(c, isinf(shares[i]) ? INFINITY : shares[i] * fabs(c->relaxed));
    return status;
}

ms_status ms_choose_milp(ms_arena *arena, const ms_choose_task *task, ms_chosen *chosen,
                         ms_error *err)
{
    *chosen = (ms_chosen){.outcome = MS_SOLVER_INFEASIBLE};
    chosen->bound = -INFINITY;
    choosing c = {.arena = arena,
                  .limit = ms_deadline_begin(task->time_limit_s, task->stop),
                  .relaxed = -INFINITY,
                  .cost = INFINITY,
                  .chosen = chosen,
                  .err = err};
    ms_status status = ms_cost_problem_begin(arena, task, &c.costs, err);
    if (status == MS_OK)
        status = choose(&c);
    ms_problem_free(&c.costs.problem);
    return status;
}
