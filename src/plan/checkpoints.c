/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The problem, in MiB and milliseconds. For each module that may be checkpointed: y says whether it
 * is, r which fraction of what it makes is discarded, t the time to make that again.
 *
 *     never_kept / made * y <= r <= y
 *     t >= operators_ms * (slope * r + intercept * y)      for each segment of its curve
 *     sum of y over the modules from the root to any module <= 1
 *     sum of made * r - never_kept * y over modules left before m >= kept(m) - budget
 *
 * Multiplying the intercept by y makes t the tight hull of "nothing, or the curve". Without it, and
 * without the order between equal modules (see add_order), proofs take minutes instead of
 * milliseconds.
 */
#include "plan/checkpoints.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plan/solver.h"

#define MIB 1048576.0
enum { NO_COLUMN = -1, MOST_RELATIVES = 64, MOST_ROUNDS = 8, SOLVER_MIB = 1024 };

typedef struct builder {
    const ms_checkpoint_task *task;
    ms_arena *arena;
    ms_problem problem;
    uint32_t *order;                       /* modules as forward leaves them */
    uint32_t *candidates, candidate_count; /* in that order */
    uint32_t *y, *r;                       /* columns by module; NO_COLUMN if it stays as it is */
    uint64_t cut_bytes;                    /* taken off the budget after a plan that was over it */
    bool finds_least;                      /* the smallest peak instead of the least time */
} builder;

static const ms_module *module_of(const builder *b, uint32_t index)
{
    return &b->task->graph->modules[index];
}

static bool is_candidate(const builder *b, uint32_t index)
{
    return b->y[index] != (uint32_t)NO_COLUMN;
}

/* ---- rows ---- */

static void add_columns(builder *b)
{
    ms_problem *p = &b->problem;
    for (uint32_t i = 0; i < b->candidate_count; i++) {
        uint32_t index = b->candidates[i];
        const ms_module *m = module_of(b, index);
        double unkept = (double)(m->made_bytes - m->saved_bytes) / (double)m->made_bytes;
        uint32_t y = b->y[index] = ms_problem_column(p, (ms_problem_bounds){0, 1}, 0, true);
        uint32_t r = b->r[index] = ms_problem_column(p, (ms_problem_bounds){0, 1}, 0, false);
        uint32_t t = ms_problem_column(p, (ms_problem_bounds){0, INFINITY}, !b->finds_least, false);
        ms_problem_row(p, (ms_problem_bounds){-INFINITY, 0});
        ms_problem_term(p, r, 1);
        ms_problem_term(p, y, -1);
        if (unkept > 0) {
            ms_problem_row(p, (ms_problem_bounds){0, INFINITY});
            ms_problem_term(p, r, 1);
            ms_problem_term(p, y, -unkept);
        }
        for (uint32_t s = 0; s < m->segment_count && !b->finds_least; s++) {
            ms_problem_row(p, (ms_problem_bounds){0, INFINITY});
            ms_problem_term(p, t, 1);
            ms_problem_term(p, r, -m->operators_ms * m->segments[s].slope);
            ms_problem_term(p, y, -m->operators_ms * m->segments[s].intercept);
        }
    }
}

/* One row for each candidate that has no candidate inside: it and those around it. */
static void add_nesting(builder *b)
{
    for (uint32_t i = 0; i < b->candidate_count; i++) {
        uint32_t index = b->candidates[i];
        bool holds_one = false;
        for (uint32_t d = index + 1; d < module_of(b, index)->after && !holds_one; d++)
            holds_one = is_candidate(b, d);
        if (holds_one)
            continue;
        ms_problem_row(&b->problem, (ms_problem_bounds){-INFINITY, 1});
        for (uint32_t a = index; a != MS_GRAPH_NO_MODULE; a = module_of(b, a)->parent)
            if (is_candidate(b, a))
                ms_problem_term(&b->problem, b->y[a], 1);
    }
}

static void add_freed(builder *b, uint32_t index)
{
    const ms_module *m = module_of(b, index);
    ms_problem_term(&b->problem, b->r[index], -(double)m->made_bytes / MIB);
    if (m->made_bytes > m->saved_bytes)
        ms_problem_term(&b->problem, b->y[index], (double)(m->made_bytes - m->saved_bytes) / MIB);
}

/* Sums of what was freed so far, chained: each starts from the one before. A need that an earlier
 * sum already covers adds nothing. */
static void add_budget(builder *b)
{
    ms_problem *p = &b->problem;
    uint32_t peak = 0, previous = 0, added = 0, seen = 0;
    bool has_previous = false;
    double covered = 0;
    if (b->finds_least)
        peak = ms_problem_column(p, (ms_problem_bounds){0, INFINITY}, 1, false);
    for (uint32_t i = 0; i < b->task->graph->count; i++) {
        uint32_t index = b->order[i];
        double budget = ((double)b->task->budget_bytes - (double)b->cut_bytes) / MIB;
        double kept = (double)ms_checkpoint_kept_bytes(b->task, index) / MIB;
        double need = b->finds_least ? kept : kept - budget;
        if (need > covered) {
            covered = need;
            double least = b->finds_least ? 0 : need;
            uint32_t sum = ms_problem_column(p, (ms_problem_bounds){least, INFINITY}, 0, false);
            ms_problem_row(p, (ms_problem_bounds){0, 0});
            ms_problem_term(p, sum, 1);
            if (has_previous)
                ms_problem_term(p, previous, -1);
            for (; added < seen; added++)
                add_freed(b, b->candidates[added]);
            if (b->finds_least) {
                ms_problem_row(p, (ms_problem_bounds){need, INFINITY});
                ms_problem_term(p, peak, 1);
                ms_problem_term(p, sum, 1);
            }
            previous = sum;
            has_previous = true;
        }
        seen += is_candidate(b, index);
    }
}

/* ---- equal modules ---- */

static int compare_segments(const ms_module *a, const ms_module *b)
{
    if (a->segment_count != b->segment_count)
        return a->segment_count < b->segment_count ? -1 : 1;
    return memcmp(a->segments, b->segments, a->segment_count * sizeof *a->segments);
}

static int compare_figures(const ms_module *a, const ms_module *b)
{
    if (a->saved_bytes != b->saved_bytes)
        return a->saved_bytes < b->saved_bytes ? -1 : 1;
    if (a->made_bytes != b->made_bytes)
        return a->made_bytes < b->made_bytes ? -1 : 1;
    if (a->operators_ms < b->operators_ms || a->operators_ms > b->operators_ms)
        return a->operators_ms < b->operators_ms ? -1 : 1;
    return compare_segments(a, b);
}

typedef struct ranked {
    const ms_module *module;
    uint32_t index;
} ranked;

static int compare_ranked(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    int order = compare_figures(x->module, y->module);
    return order != 0 ? order : x->module->left < y->module->left ? -1 : 1;
}

/* Terms for all candidates around or inside a module. */
static void add_relatives(builder *b, uint32_t index)
{
    for (uint32_t a = module_of(b, index)->parent; a != MS_GRAPH_NO_MODULE;
         a = module_of(b, a)->parent)
        if (is_candidate(b, a))
            ms_problem_term(&b->problem, b->y[a], -1);
    for (uint32_t d = index + 1; d < module_of(b, index)->after; d++)
        if (is_candidate(b, d))
            ms_problem_term(&b->problem, b->y[d], -1);
}

/* Of two equal modules the one that is left first goes first: what it discards helps wherever the
 * other's would. That holds unless something around or inside the first is checkpointed, which
 * then forbids it. */
static void add_order(builder *b, uint32_t first, uint32_t second)
{
    bool is_nested =
        first < second ? second < module_of(b, first)->after : first < module_of(b, second)->after;
    if (is_nested || module_of(b, first)->after - first > MOST_RELATIVES)
        return;
    const uint32_t *columns[] = {b->y, b->r};
    for (size_t i = 0; i < 2; i++) {
        ms_problem_row(&b->problem, (ms_problem_bounds){-INFINITY, 0});
        ms_problem_term(&b->problem, columns[i][second], 1);
        ms_problem_term(&b->problem, columns[i][first], -1);
        add_relatives(b, first);
    }
}

static ms_status add_orders(builder *b)
{
    ranked *all = ms_arena_array(b->arena, ranked, b->candidate_count);
    if (!all)
        return MS_ERR_NOMEM;
    for (uint32_t i = 0; i < b->candidate_count; i++)
        all[i] = (ranked){module_of(b, b->candidates[i]), b->candidates[i]};
    qsort(all, b->candidate_count, sizeof *all, compare_ranked);
    for (uint32_t i = 1; i < b->candidate_count; i++)
        if (compare_figures(all[i - 1].module, all[i].module) == 0)
            add_order(b, all[i - 1].index, all[i].index);
    return MS_OK;
}

/* ---- preparing ---- */

static ms_status prepare(builder *b, ms_checkpoint_plan *plan)
{
    uint32_t count = b->task->graph->count;
    b->order = ms_arena_array(b->arena, uint32_t, count);
    b->candidates = ms_arena_array(b->arena, uint32_t, count);
    b->y = ms_arena_array(b->arena, uint32_t, count);
    b->r = ms_arena_array(b->arena, uint32_t, count);
    plan->parts = ms_arena_array(b->arena, uint32_t, count);
    if (!b->order || !b->candidates || !b->y || !b->r || !plan->parts)
        return MS_ERR_NOMEM;
    for (uint32_t i = 0; i < count; i++)
        b->order[module_of(b, i)->left] = i;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t index = b->order[i];
        const ms_module *m = module_of(b, index);
        bool may = b->task->may[index] && !m->is_leaf && m->saved_bytes > 0;
        b->y[index] = may ? 0 : (uint32_t)NO_COLUMN;
        if (may)
            b->candidates[b->candidate_count++] = index;
    }
    return MS_OK;
}

static ms_status solve(builder *b, ms_solution *solution, ms_error *err)
{
    b->problem = (ms_problem){.no_memory = false};
    add_columns(b);
    add_nesting(b);
    add_budget(b);
    if (!b->finds_least && add_orders(b) != MS_OK)
        b->problem.no_memory = true;
    ms_solver_options options = {
        .gap = 0.98 * b->task->gap, /* room for rounding */
        .time_limit_s = b->task->time_limit_s,
        .memory_mib = SOLVER_MIB,
    };
    ms_status status = ms_problem_solve(&b->problem, &options, solution, err);
    ms_problem_free(&b->problem);
    return status;
}

/* ---- reading the solution ---- */

/* Rounds the fractions up to whole parts, so that rounding frees memory. */
static void read_parts(const builder *b, const ms_solution *solution, uint32_t *parts)
{
    for (uint32_t i = 0; i < b->candidate_count; i++) {
        uint32_t index = b->candidates[i];
        double wanted = ceil(solution->values[b->r[index]] * MS_PARTS - 1e-3);
        bool is_chosen = solution->values[b->y[index]] > 0.5 && wanted > 0;
        uint32_t rounded = wanted < MS_PARTS ? (uint32_t)(is_chosen ? wanted : 0) : MS_PARTS;
        parts[index] = is_chosen ? rounded : 0;
        if (ms_checkpoint_freed_bytes(module_of(b, index), parts[index]) == 0)
            parts[index] = 0;
    }
}

/* The solver's tolerance leaves a few hundred bytes too many: takes them from modules that are
 * checkpointed already and left before the peak. */
static void top_up(const builder *b, ms_checkpoint_plan *plan)
{
    for (uint32_t i = 0; i < b->candidate_count && plan->peak_bytes > b->task->budget_bytes; i++) {
        uint32_t index = b->candidates[i], parts = plan->parts[index];
        const ms_module *m = module_of(b, index);
        if (parts == 0 || parts == MS_PARTS || m->left >= module_of(b, plan->peak_module)->left)
            continue;
        double over = (double)(plan->peak_bytes - b->task->budget_bytes);
        double wanted = parts + ceil(over / (double)m->made_bytes * MS_PARTS) + 1;
        plan->parts[index] = wanted < MS_PARTS ? (uint32_t)wanted : MS_PARTS;
        plan->peak_bytes = ms_checkpoint_peak(b->task, b->order, plan->parts, &plan->peak_module);
    }
}

static void count(const builder *b, ms_checkpoint_plan *plan)
{
    plan->recompute_ms = 0;
    for (uint32_t i = 0; i < b->candidate_count; i++) {
        uint32_t index = b->candidates[i];
        plan->recompute_ms += ms_checkpoint_ms(module_of(b, index), plan->parts[index]);
    }
}

static void take(const builder *b, const ms_solution *solution, ms_checkpoint_plan *plan)
{
    read_parts(b, solution, plan->parts);
    plan->peak_bytes = ms_checkpoint_peak(b->task, b->order, plan->parts, &plan->peak_module);
    top_up(b, plan);
    count(b, plan);
    plan->has_plan = plan->peak_bytes <= b->task->budget_bytes;
}

static void set_gap(const builder *b, double bound, ms_checkpoint_plan *plan)
{
    plan->bound_ms = bound > 0 ? bound : 0;
    if (plan->bound_ms > plan->recompute_ms)
        plan->bound_ms = plan->recompute_ms;
    plan->gap = plan->recompute_ms > 0 ? 1 - plan->bound_ms / plan->recompute_ms : 0;
    /* Beyond what is asked for, 1e-6 is what rounding to whole parts may cost. */
    plan->outcome = plan->gap <= b->task->gap + 1e-6 ? MS_PLAN_OPTIMAL : MS_PLAN_LIMIT;
}

/* The smallest peak, for whoever asks what would fit. */
static ms_status find_least(builder *b, ms_checkpoint_plan *plan, ms_error *err)
{
    ms_solution solution = {0};
    b->finds_least = true;
    ms_status status = solve(b, &solution, err);
    if (status == MS_OK && solution.has_solution) {
        read_parts(b, &solution, plan->parts);
        plan->least_bytes = ms_checkpoint_peak(b->task, b->order, plan->parts, &plan->peak_module);
    }
    memset(plan->parts, 0, b->task->graph->count * sizeof *plan->parts);
    ms_solution_free(&solution);
    return status;
}

static ms_status search(builder *b, ms_checkpoint_plan *plan, ms_error *err)
{
    double bound = 0;
    for (int round = 0; round < MOST_ROUNDS && !plan->has_plan; round++) {
        ms_solution solution = {0};
        ms_status status = solve(b, &solution, err);
        plan->outcome =
            solution.outcome == MS_SOLVER_INFEASIBLE ? MS_PLAN_INFEASIBLE : MS_PLAN_LIMIT;
        if (status == MS_OK && solution.has_solution) {
            take(b, &solution, plan);
            b->cut_bytes += plan->has_plan ? 0 : plan->peak_bytes - b->task->budget_bytes + 1;
        }
        if (round == 0) /* the bounds of later rounds are for smaller budgets */
            bound = solution.bound;
        bool goes_on = status == MS_OK && solution.has_solution;
        ms_solution_free(&solution);
        if (!goes_on)
            return status;
    }
    if (plan->has_plan)
        set_gap(b, bound, plan);
    return MS_OK;
}

ms_status ms_checkpoints_plan(ms_arena *arena, const ms_checkpoint_task *task,
                              ms_checkpoint_plan *plan, ms_error *err)
{
    *plan = (ms_checkpoint_plan){.outcome = MS_PLAN_OPTIMAL};
    builder b = {.task = task, .arena = arena};
    if (prepare(&b, plan) != MS_OK)
        return ms_fail(err, MS_ERR_NOMEM, "out of memory for the plan");
    plan->peak_bytes = ms_checkpoint_peak(task, b.order, plan->parts, &plan->peak_module);
    plan->has_plan = plan->peak_bytes <= task->budget_bytes;
    if (plan->has_plan)
        return MS_OK;
    ms_status status = search(&b, plan, err);
    if (status == MS_OK && plan->outcome == MS_PLAN_INFEASIBLE)
        status = find_least(&b, plan, err);
    return status;
}
