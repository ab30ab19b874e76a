/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The problem, in MiB and milliseconds. For each group of `count` modules: y of them are
 * checkpointed, r is the sum of the fractions that they discard, t the time to make that again.
 *
 *     never_kept / made * y <= r <= y
 *     t >= operators_ms * (slope * r + intercept * y)      for each segment of its curve
 *     sum of y / count over the groups from the outermost to any innermost one <= 1
 *     sum of made * r - never_kept * y over the groups before a row >= what the row needs
 *
 * Since the curve is convex, equal modules do best when each discards the same, and t is exact.
 * Multiplying the intercept by y makes t the tight hull of "nothing, or the curve".
 */
#include "plan/modules/counts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plan/modules/groups.h"
#include "plan/modules/recount.h"
#include "plan/solver/problem.h"
#include "plan/solver/solver.h"

enum { SOLVER_MIB = 1024 };

typedef struct builder {
    const ms_candidates *candidates;
    const ms_counts_options *options;
    ms_module_groups groups;
    ms_problem problem;
    uint32_t *y, *r; /* columns by group */
} builder;

static double unkept_of(const ms_module *m)
{
    return (double)(m->made_bytes - m->saved_bytes) / (double)m->made_bytes;
}

/* ---- rows ---- */

static void add_columns(builder *b)
{
    ms_problem *p = &b->problem;
    for (uint32_t i = 0; i < b->groups.count; i++) {
        const ms_module_group *group = &b->groups.items[i];
        const ms_module *m = group->candidate->module;
        double unkept = unkept_of(m);
        uint32_t y = b->y[i] = ms_problem_column(p, (ms_problem_bounds){0, group->count}, 0, true);
        uint32_t r = b->r[i] = ms_problem_column(p, (ms_problem_bounds){0, group->count}, 0, false);
        uint32_t t = ms_problem_column(p, (ms_problem_bounds){0, INFINITY}, 1, false);
        ms_problem_row(p, (ms_problem_bounds){-INFINITY, 0});
        ms_problem_term(p, r, 1);
        ms_problem_term(p, y, -1);
        if (unkept > 0) {
            ms_problem_row(p, (ms_problem_bounds){0, INFINITY});
            ms_problem_term(p, r, 1);
            ms_problem_term(p, y, -unkept);
        }
        for (uint32_t s = 0; s < m->segment_count; s++) {
            ms_problem_row(p, (ms_problem_bounds){0, INFINITY});
            ms_problem_term(p, t, 1);
            ms_problem_term(p, r, -m->operators_ms * m->segments[s].slope);
            ms_problem_term(p, y, -m->operators_ms * m->segments[s].intercept);
        }
    }
}

/* One row for each group that holds none: it and those around it. */
static void add_nesting(builder *b)
{
    const ms_module_group *groups = b->groups.items;
    for (uint32_t i = 0; i < b->groups.count; i++) {
        if (groups[i].holds_any || groups[i].around == MS_NO_CANDIDATE)
            continue;
        ms_problem_row(&b->problem, (ms_problem_bounds){-INFINITY, groups[i].count});
        for (uint32_t a = i; a != MS_NO_CANDIDATE; a = groups[a].around)
            ms_problem_term(&b->problem, b->y[a], (double)groups[i].count / groups[a].count);
    }
}

static int compare_falling(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x < y) - (x > y);
}

static void add_freed(builder *b, uint32_t stage)
{
    for (uint32_t i = 0; i < b->groups.count; i++) {
        const ms_module *m = b->groups.items[i].candidate->module;
        if (b->groups.items[i].stage != stage)
            continue;
        ms_problem_term(&b->problem, b->r[i], -(double)m->made_bytes / MS_MIB);
        if (m->made_bytes > m->saved_bytes)
            ms_problem_term(&b->problem, b->y[i],
                            (double)(m->made_bytes - m->saved_bytes) / MS_MIB);
    }
}

/* Sums of what was freed so far, chained: each starts from the one before. */
static void add_budget(builder *b)
{
    ms_problem *p = &b->problem;
    uint32_t previous = 0, stage = 0;
    for (uint32_t row = 0; row < b->candidates->row_count; row++) {
        if (!b->options->is_used[row])
            continue;
        uint64_t need = b->candidates->rows[row].need_bytes + b->options->more_bytes;
        ms_problem_bounds bounds = {(double)need / MS_MIB, INFINITY};
        uint32_t sum = ms_problem_column(p, bounds, 0, false);
        ms_problem_row(p, (ms_problem_bounds){0, 0});
        ms_problem_term(p, sum, 1);
        if (stage > 0)
            ms_problem_term(p, previous, -1);
        add_freed(b, stage++);
        previous = sum;
    }
}

/* The fewest modules that free what a row needs, if nothing stood in their way. Without this a
 * module that is needed for a few bytes costs next to nothing in the relaxation. */
static uint32_t fewest_modules(const builder *b, const ms_row *row)
{
    uint64_t freed = 0, *sizes = b->candidates->scratch;
    uint32_t count = 0;
    for (uint32_t i = 0; i < row->before; i++)
        sizes[i] = b->candidates->items[i].module->saved_bytes;
    qsort(sizes, row->before, sizeof *sizes, compare_falling);
    while (count < row->before && freed < row->need_bytes)
        freed += sizes[count++];
    return count;
}

static void add_covers(builder *b)
{
    uint32_t stage = 0;
    for (uint32_t i = 0; i < b->candidates->row_count; i++) {
        const ms_row *row = &b->candidates->rows[i];
        if (!b->options->is_used[i])
            continue;
        uint32_t fewest = fewest_modules(b, row);
        ms_problem_row(&b->problem, (ms_problem_bounds){fewest, INFINITY});
        for (uint32_t k = 0; k < b->groups.count; k++)
            if (b->groups.items[k].stage <= stage)
                ms_problem_term(&b->problem, b->y[k], 1);
        stage++;
    }
}

/* ---- equal groups in other places ---- */

typedef struct ranked {
    const ms_module_group *group;
    uint32_t index, first_member, last_member;
} ranked;

static int compare_ranked(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    if (x->group->figures != y->group->figures)
        return x->group->figures < y->group->figures ? -1 : 1;
    return (x->first_member > y->first_member) - (x->first_member < y->first_member);
}

static bool lies_in(const builder *b, uint32_t inner, uint32_t outer)
{
    while (inner != MS_NO_CANDIDATE && inner != outer)
        inner = b->groups.items[inner].around;
    return inner == outer;
}

/* Of equal modules those that are left first go first: what they discard helps wherever the others'
 * would. That holds unless something around or inside one of the first is checkpointed, which then
 * forbids it. */
static void add_order(builder *b, uint32_t first, uint32_t second)
{
    const ms_module_group *groups = b->groups.items;
    double count = groups[first].count;
    if (lies_in(b, first, second) || lies_in(b, second, first))
        return;
    const uint32_t *columns[] = {b->y, b->r};
    for (size_t i = 0; i < 2; i++) {
        ms_problem_row(&b->problem, (ms_problem_bounds){-INFINITY, 0});
        ms_problem_term(&b->problem, columns[i][second], count / groups[second].count);
        ms_problem_term(&b->problem, columns[i][first], -1);
        for (uint32_t a = groups[first].around; a != MS_NO_CANDIDATE; a = groups[a].around)
            ms_problem_term(&b->problem, b->y[a], -count / groups[a].count);
        for (uint32_t d = first + 1; groups[first].holds_any && d < b->groups.count; d++)
            if (lies_in(b, d, first))
                ms_problem_term(&b->problem, b->y[d], -1);
    }
}

static ms_status add_orders(builder *b, ms_arena *arena)
{
    ranked *all = ms_arena_array(arena, ranked, b->groups.count);
    if (!all)
        return MS_ERR_NOMEM;
    for (uint32_t i = 0; i < b->groups.count; i++) {
        const ms_module_group *group = &b->groups.items[i];
        uint32_t last = group->first + group->count - 1;
        all[i] = (ranked){group, i, b->groups.members[group->first], b->groups.members[last]};
    }
    qsort(all, b->groups.count, sizeof *all, compare_ranked);
    for (uint32_t i = 1; i < b->groups.count; i++)
        if (all[i - 1].group->figures == all[i].group->figures &&
            all[i - 1].last_member < all[i].first_member)
            add_order(b, all[i - 1].index, all[i].index);
    return MS_OK;
}

/* ---- reading the solution ---- */

static uint32_t whole_parts(double fraction)
{
    double parts = ceil(fraction * MS_PARTS - 1e-3);
    return parts < MS_PARTS ? (uint32_t)(parts > 0 ? parts : 0) : MS_PARTS;
}

/* The sum of fractions over so many equal modules, which costs least when all lie between the same
 * two corners of the curve: the first ones are at the upper, and at most one is between. */
static double take_fraction(const ms_candidate *candidate, double *sum, uint32_t left)
{
    uint32_t k = 0;
    if (left == 1 || candidate->corner_count == 1)
        return *sum;
    while (k + 2 < candidate->corner_count && candidate->corners[k + 1].fraction * left < *sum)
        k++;
    double lower = candidate->corners[k].fraction, upper = candidate->corners[k + 1].fraction;
    double most = *sum - lower * (left - 1);
    double fraction = most < upper ? most : upper;
    fraction = fraction > lower ? fraction : lower;
    *sum -= fraction;
    return fraction;
}

static bool is_blocked(const builder *b, const ms_candidate *candidate, const uint32_t *parts)
{
    const ms_candidate *items = b->candidates->items;
    for (uint32_t a = candidate->around; a != MS_NO_CANDIDATE; a = items[a].around)
        if (parts[items[a].index] > 0)
            return true;
    return false;
}

/* Members that nothing around them forbids, the first ones. Classes come from outside inwards. */
static void read_class(const builder *b, uint32_t index, const double *values, uint32_t *parts)
{
    const ms_module_group *group = &b->groups.items[index];
    uint32_t left = (uint32_t)(values[b->y[index]] + 0.5);
    double sum = values[b->r[index]];
    for (uint32_t i = 0; i < group->count && left > 0; i++) {
        const ms_candidate *candidate = &b->candidates->items[b->groups.members[group->first + i]];
        if (is_blocked(b, candidate, parts))
            continue;
        uint32_t wanted = whole_parts(take_fraction(candidate, &sum, left--));
        parts[candidate->index] =
            ms_checkpoint_freed_bytes(candidate->module, wanted) > 0 ? wanted : 0;
    }
}

static ms_status solve(builder *b, ms_arena *arena, ms_counts *counts, ms_error *err)
{
    const ms_checkpoint_task *task = b->candidates->task;
    ms_solution solution = {0};
    add_columns(b);
    add_nesting(b);
    add_budget(b);
    add_covers(b);
    if (add_orders(b, arena) != MS_OK)
        b->problem.no_memory = true;
    ms_solver_options options = {
        .gap = 0.98 * task->gap, /* room for rounding */
        .time_limit_s = ms_limit_left_s(b->options->limit),
        .enough = b->options->enough_ms,
        .stop = b->options->limit->stop,
        .memory_mib = SOLVER_MIB,
    };
    ms_status status = ms_problem_solve(&b->problem, &options, &solution, err);
    counts->is_proven = solution.outcome == MS_SOLVER_PROVEN;
    counts->has_plan = solution.has_solution;
    counts->bound_ms = solution.bound;
    memset(counts->parts, 0, task->graph->count * sizeof *counts->parts);
    for (uint32_t i = 0; i < b->groups.count && status == MS_OK && solution.has_solution; i++)
        read_class(b, i, solution.values, counts->parts);
    ms_solution_free(&solution);
    ms_problem_free(&b->problem);
    return status;
}

ms_status ms_counts_plan(ms_arena *arena, const ms_candidates *candidates,
                         const ms_counts_options *options, ms_counts *counts, ms_error *err)
{
    builder b = {.candidates = candidates, .options = options};
    b.y = ms_arena_array(arena, uint32_t, candidates->count);
    b.r = ms_arena_array(arena, uint32_t, candidates->count);
    if (!b.y || !b.r ||
        ms_module_groups_find(arena, candidates, options->is_used, &b.groups) != MS_OK)
        return ms_fail(err, MS_ERR_NOMEM, "out of memory for the plan");
    return solve(&b, arena, counts, err);
}
