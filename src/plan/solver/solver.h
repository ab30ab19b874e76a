/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Linear problems with integer columns, minimised. A problem is plain data until it is solved; only
 * solver.c knows which solver does it.
 *
 *     uint32_t x = ms_problem_column(&p, (ms_problem_bounds){0, 1}, 2.5, true);
 *     ms_problem_row(&p, (ms_problem_bounds){1, INFINITY});
 *     ms_problem_term(&p, x, 3.0);
 */
#ifndef MS_PLAN_SOLVER_SOLVER_H
#define MS_PLAN_SOLVER_SOLVER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/limit.h"
#include "base/vec.h"

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
    bool no_memory; /* sticky: look at it once, ms_problem_solve does */
} ms_problem;

/* Adds a column and yields its index. */
uint32_t ms_problem_column(ms_problem *problem, ms_problem_bounds bounds, double cost,
                           bool is_integer);
/* Begins a row; terms go to the row begun last, each column at most once. */
void ms_problem_row(ms_problem *problem, ms_problem_bounds bounds);
void ms_problem_term(ms_problem *problem, uint32_t column, double coefficient);
void ms_problem_free(ms_problem *problem);

typedef struct ms_solver_options {
    double gap;          /* relative; 0 = to the optimum */
    double time_limit_s; /* looked at between nodes of the search */
    double enough;       /* a bound that ends the search; 0 = none */
    const ms_stop *stop; /* or NULL; looked at between nodes, too */
    uint32_t memory_mib; /* most the solver may take; 0 = no limit */
    uint32_t nodes;      /* most of the search, the same on every machine; 0 = no limit */
} ms_solver_options;

typedef enum ms_solver_outcome {
    MS_SOLVER_PROVEN,     /* within the gap of the optimum */
    MS_SOLVER_INFEASIBLE, /* proven to have no solution */
    MS_SOLVER_LIMIT       /* out of time, stopped, or enough is proven; see has_solution */
} ms_solver_outcome;

typedef struct ms_solution {
    ms_solver_outcome outcome;
    bool has_solution;
    double objective, bound; /* bound: no solution is cheaper; -INFINITY when none is known */
    double *values;          /* one for each column, if there is a solution */
    double *prices;          /* of a relaxed problem: see there */
} ms_solution;

/* Values are exact only to the solver's tolerance: count again what must hold. Free the solution
 * also after a failure. */
ms_status ms_problem_solve(const ms_problem *problem, const ms_solver_options *options,
                           ms_solution *solution, ms_error *err);
/* Without integers; solved to the optimum, or it has no solution. prices[i]: any solution costs by
 * at least that much more than the objective for each unit that column i is above its lower bound
 * (reduced costs; negative where it is at its upper bound). */
ms_status ms_problem_relax(const ms_problem *problem, const ms_solver_options *options,
                           ms_solution *solution, ms_error *err);
void ms_solution_free(ms_solution *solution);

/* The version of GLPK, e.g. "5.0". Static text. */
const char *ms_solver_version(void);

#endif
