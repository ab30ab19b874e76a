/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The problem, in MiB and milliseconds. For each candidate: y is 1 if it is checkpointed, s is the
 * share of its bytes that it frees, t the time to make that again.
 *
 *     s <= y
 *     t >= slope * s + intercept * y      for each segment between two corners of its curve
 *     sum of y from an outermost candidate to any innermost one inside it <= 1
 *     sum of bytes * s over the candidates before a row >= what the row needs
 *
 * Multiplying the intercept by y makes t the tight hull of "nothing, or the curve". Rows are added
 * as plans violate them; omitted ones only lower the bound. Segments come from corners, because a
 * file's own are often the same line again but for rounding, which misleads the solver.
 */
#include "decide/plan/modules/choices.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "decide/plan/modules/candidates.h"
#include "decide/plan/solver/problem.h"
#include "decide/plan/solver/solver.h"

enum { SOLVER_MIB = 1024, MOST_ROUNDS = 20, MOST_NODES = 20000 };
#define BOUND_SLACK 1e-6  /* of the solver's bound */
#define LEAST_SPAN 1e-4   /* MiB, of a segment */
#define LEAST_NEED MS_MIB /* of the last row: less is too small for the solver's tolerance */

typedef struct builder {
    const ms_candidates *candidates;
    const ms_choices_options *options;
    ms_problem problem;
    uint32_t *y, *share; /* columns by candidate */
    bool *is_used;       /* by row */
    bool *holds_any;     /* by candidate: contains others */
    uint64_t more_bytes; /* that every row wants */
} builder;

static double mib(uint64_t bytes)
{
    return (double)bytes / MS_MIB;
}

/* ---- rows of the problem ---- */

static void add_segment(builder *b, uint32_t candidate, uint32_t t, double slope, double intercept)
{
    ms_problem_row(&b->problem, (ms_problem_bounds){0, INFINITY});
    ms_problem_term(&b->problem, t, 1);
    ms_problem_term(&b->problem, b->share[candidate], -slope);
    ms_problem_term(&b->problem, b->y[candidate], -intercept);
}

/* The slope of the segment that ends at a corner; 0: it falls, or is too short to matter. */
static double slope_to(const ms_corner *corner)
{
    double span = corner->freed_mib - corner[-1].freed_mib, ms = corner->ms - corner[-1].ms;
    return span > LEAST_SPAN && ms > 0 ? ms / span : 0;
}

static void add_segments(builder *b, uint32_t candidate, uint32_t t)
{
    const ms_candidate *c = &b->candidates->items[candidate];
    double least = c->corners[0].ms, steepest = 0, bytes_mib = mib(c->module->saved_bytes);
    for (uint32_t k = 1; k < c->corner_count; k++)
        least = c->corners[k].ms < least ? c->corners[k].ms : least;
    if (c->corner_count == 1 || slope_to(&c->corners[1]) == 0)
        add_segment(b, candidate, t, 0, least);
    for (uint32_t k = 1; k < c->corner_count; k++) {
        double slope = slope_to(&c->corners[k]);
        if (slope <= steepest * (1 + 1e-6)) /* the same line again */
            continue;
        add_segment(b, candidate, t, slope * bytes_mib,
                    c->corners[k].ms - slope * c->corners[k].freed_mib);
        steepest = slope;
    }
}

static void add_columns(builder *b)
{
    ms_problem *p = &b->problem;
    for (uint32_t i = 0; i < b->candidates->count; i++) {
        b->y[i] = ms_problem_column(p, (ms_problem_bounds){0, 1}, 0, true);
        b->share[i] = ms_problem_column(p, (ms_problem_bounds){0, 1}, 0, false);
        uint32_t t = ms_problem_column(p, (ms_problem_bounds){0, INFINITY}, 1, false);
        ms_problem_row(p, (ms_problem_bounds){-INFINITY, 0});
        ms_problem_term(p, b->share[i], 1);
        ms_problem_term(p, b->y[i], -1);
        add_segments(b, i, t);
    }
}

/* One row for each candidate that holds none: it and those around it. */
static void add_nesting(builder *b)
{
    const ms_candidate *items = b->candidates->items;
    for (uint32_t i = 0; i < b->candidates->count; i++) {
        if (b->holds_any[i] || items[i].around == MS_NO_CANDIDATE)
            continue;
        ms_problem_row(&b->problem, (ms_problem_bounds){-INFINITY, 1});
        for (uint32_t a = i; a != MS_NO_CANDIDATE; a = items[a].around)
            ms_problem_term(&b->problem, b->y[a], 1);
    }
}

/* Sums of what was freed so far, chained: each starts from the one before. */
static void add_needs(builder *b)
{
    ms_problem *p = &b->problem;
    uint32_t previous = 0, next = 0;
    for (uint32_t row = 0; row < b->candidates->row_count; row++) {
        if (!b->is_used[row])
            continue;
        double need = mib(b->candidates->rows[row].need_bytes + b->more_bytes);
        uint32_t sum = ms_problem_column(p, (ms_problem_bounds){need, INFINITY}, 0, false);
        ms_problem_row(p, (ms_problem_bounds){0, 0});
        ms_problem_term(p, sum, 1);
        if (next > 0)
            ms_problem_term(p, previous, -1);
        for (; next < b->candidates->rows[row].before; next++)
            ms_problem_term(p, b->share[next],
                            -mib(b->candidates->items[next].module->saved_bytes));
        previous = sum;
    }
}

static int compare_falling(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x < y) - (x > y);
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
    for (uint32_t row = 0; row < b->candidates->row_count; row++) {
        if (!b->is_used[row])
            continue;
        uint32_t fewest = fewest_modules(b, &b->candidates->rows[row]);
        ms_problem_row(&b->problem, (ms_problem_bounds){fewest, INFINITY});
        for (uint32_t i = 0; i < b->candidates->rows[row].before; i++)
            ms_problem_term(&b->problem, b->y[i], 1);
    }
}

/* ---- which rows are used ---- */

/* Those at which the price falls. */
static void use_first_rows(builder *b)
{
    const ms_candidates *c = b->candidates;
    for (uint32_t row = 0; row < c->row_count; row++) {
        uint32_t before = c->rows[row].before;
        double next = before < c->count ? b->options->price[before] : 0;
        b->is_used[row] = before > 0 && b->options->price[before - 1] > next;
    }
}

/* The row that a plan lacks most for, of those in use or of the others. */
static uint64_t find_worst(const builder *b, const uint32_t *parts, bool is_used, uint32_t *worst)
{
    const ms_candidates *c = b->candidates;
    uint64_t freed = 0, most = 0;
    uint32_t next = 0;
    for (uint32_t row = 0; row < c->row_count; row++) {
        for (; next < c->rows[row].before; next++)
            freed += ms_checkpoint_freed_bytes(c->items[next].module, parts[c->items[next].index]);
        uint64_t need = c->rows[row].need_bytes;
        if (b->is_used[row] == is_used && need > freed && need - freed > most) {
            most = need - freed;
            *worst = row;
        }
    }
    return most;
}

/* Uses the rows that a plan lacks most for, ever more of them. If there are none, the plan may lack
 * what the solver takes for nothing, and all rows want more. False when it lacks nothing. */
static bool ask_more(builder *b, const uint32_t *parts, uint32_t rows)
{
    uint32_t worst, used = 0;
    for (; used < rows && find_worst(b, parts, false, &worst) > 0; used++)
        b->is_used[worst] = true;
    uint64_t lack = used > 0 ? 0 : find_worst(b, parts, true, &worst);
    b->more_bytes += lack > 0 ? lack + 1 : 0;
    return used > 0 || lack > 0;
}

/* ---- solving ---- */

static void read_plan(const builder *b, const double *values, uint32_t *parts)
{
    const ms_candidates *c = b->candidates;
    memset(parts, 0, c->task->graph->count * sizeof *parts);
    for (uint32_t i = 0; i < c->count; i++) {
        uint64_t saved = c->items[i].module->saved_bytes;
        double bytes = ceil(values[b->share[i]] * (double)saved - 1e-3);
        if (values[b->y[i]] > 0.5 && bytes > 0)
            parts[c->items[i].index] = ms_candidate_parts(
                c->items[i].module, bytes < (double)saved ? (uint64_t)bytes : saved);
    }
}

static ms_status solve(builder *b, ms_choices *choices)
{
    add_columns(b);
    add_nesting(b);
    add_needs(b);
    add_covers(b);
    double left_s = ms_deadline_left_s(b->options->limit);
    ms_solver_options options = {
        .gap = 0.9 * b->candidates->task->gap, /* room for rounding */
        .time_limit_s = left_s < b->options->time_limit_s ? left_s : b->options->time_limit_s,
        .enough = b->options->enough_ms,
        .stop = b->options->limit->stop,
        .memory_mib = SOLVER_MIB,
        .nodes = MOST_NODES,
    };
    ms_solution solution = {0};
    ms_error inner = {.status = MS_OK};
    ms_status status = ms_problem_solve(&b->problem, &options, &solution, &inner);
    choices->has_plan = status == MS_OK && solution.has_solution;
    bool is_bound = status == MS_OK && solution.outcome != MS_SOLVER_INFEASIBLE;
    double bound = is_bound ? solution.bound * (1 - BOUND_SLACK) : -INFINITY;
    if (bound > choices->bound_ms && b->more_bytes == 0)
        choices->bound_ms = bound;
    if (choices->has_plan)
        read_plan(b, solution.values, choices->parts);
    ms_solution_free(&solution);
    ms_problem_free(&b->problem);
    b->problem = (ms_problem){.no_memory = false};
    return status;
}

static ms_status run(builder *b, ms_choices *choices)
{
    use_first_rows(b);
    for (uint32_t round = 0; round < MOST_ROUNDS; round++) {
        ms_status status = solve(b, choices);
        if (status == MS_ERR_NOMEM)
            return status;
        if (!choices->has_plan || ms_deadline_reached(b->options->limit) ||
            !ask_more(b, choices->parts, round + 1))
            break;
    }
    return MS_OK;
}

ms_status ms_choices_plan(ms_arena *arena, const ms_candidates *candidates,
                          const ms_choices_options *options, ms_choices *choices)
{
    builder b = {.candidates = candidates, .options = options};
    b.y = ms_arena_array(arena, uint32_t, candidates->count);
    b.share = ms_arena_array(arena, uint32_t, candidates->count);
    b.is_used = ms_arena_array(arena, bool, candidates->row_count);
    b.holds_any = ms_arena_array(arena, bool, candidates->count);
    choices->has_plan = false;
    choices->bound_ms = -INFINITY;
    if ((double)candidates->rows[candidates->row_count - 1].need_bytes < LEAST_NEED)
        return MS_OK;
    if (!b.y || !b.share || !b.is_used || !b.holds_any)
        return MS_ERR_NOMEM;
    for (uint32_t i = 0; i < candidates->count; i++)
        if (candidates->items[i].around != MS_NO_CANDIDATE)
            b.holds_any[candidates->items[i].around] = true;
    return run(&b, choices);
}
