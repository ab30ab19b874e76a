/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Linear problems with integer columns, minimised. A problem is plain data until it is solved.
 *
 *     uint32_t x = ms_problem_column(&p, (ms_problem_bounds){0, 1}, 2.5, true);
 *     ms_problem_row(&p, (ms_problem_bounds){1, INFINITY});
 *     ms_problem_term(&p, x, 3.0);
 */
#ifndef MS_DECIDE_PLAN_SOLVER_PROBLEM_H
#define MS_DECIDE_PLAN_SOLVER_PROBLEM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"

#define MS_MIB (1024.0 * 1024.0) /* bytes; the unit of those in problems */

typedef struct ms_problem_bounds {
    double lower, upper; /* -INFINITY, INFINITY: none */
} ms_problem_bounds;

typedef struct ms_problem {
    ms_vec(struct ms_problem_column {
        ms_problem_bounds bounds;
        double cost;
        bool is_integer;
    }) columns;
    ms_vec(struct ms_problem_row {
        ms_problem_bounds bounds;
        uint32_t first_term;
    }) rows;
    ms_vec(struct ms_problem_term {
        uint32_t column;
        double coefficient;
    }) terms;
    bool no_memory; /* sticky; ms_problem_solve checks it */
} ms_problem;

typedef enum ms_solver_outcome {
    MS_SOLVER_PROVEN,     /* within the gap of the optimum */
    MS_SOLVER_INFEASIBLE, /* proven to have no solution */
    MS_SOLVER_LIMIT /* out of time, stopped, or the bound `enough` is reached; see has_solution */
} ms_solver_outcome;

typedef struct ms_solution {
    ms_solver_outcome outcome;
    bool has_solution;
    double objective, bound; /* bound: a lower bound of all solutions; -INFINITY: unknown */
    double *values;          /* one for each column, if there is a solution */
    double *prices;          /* see ms_problem_relax */
} ms_solution;

/* Adds a column and returns its index. */
uint32_t ms_problem_column(ms_problem *problem, ms_problem_bounds bounds, double cost,
                           bool is_integer);
/* Begins a row; terms go to the row begun last, each column at most once. */
void ms_problem_row(ms_problem *problem, ms_problem_bounds bounds);
void ms_problem_term(ms_problem *problem, uint32_t column, double coefficient);
void ms_problem_free(ms_problem *problem);
void ms_solution_free(ms_solution *solution);

/* ---- outcome ---- */

/* How the search for a plan ended. */

typedef enum ms_plan_outcome {
    MS_PLAN_OPTIMAL, /* proven within the gap */
    MS_PLAN_INFEASIBLE,
    MS_PLAN_LIMIT,  /* out of time */
    MS_PLAN_STOPPED /* on request */
} ms_plan_outcome;
extern const char *const ms_plan_outcome_names[]; /* by ms_plan_outcome */

#endif
