/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Solving linear problems with integer columns; only solver.c knows which solver does it.
 */
#ifndef MS_PLAN_SOLVER_SOLVER_H
#define MS_PLAN_SOLVER_SOLVER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/limit.h"
#include "plan/solver/problem.h"

typedef struct ms_solver_options {
    double gap;          /* relative; 0 = to the optimum */
    double time_limit_s; /* looked at between nodes of the search */
    double enough;       /* a bound that ends the search; 0 = none */
    const ms_stop *stop; /* or NULL; looked at between nodes, too */
    uint32_t memory_mib; /* most the solver may take; 0 = no limit */
    uint32_t nodes;      /* most of the search, the same on every machine; 0 = no limit */
} ms_solver_options;

/* Values are exact only to the solver's tolerance: count again what must hold. Free the solution
 * also after a failure. */
ms_status ms_problem_solve(const ms_problem *problem, const ms_solver_options *options,
                           ms_solution *solution, ms_error *err);
/* Without integers; solved to the optimum, or it has no solution. prices[i]: any solution costs by
 * at least that much more than the objective for each unit that column i is above its lower bound
 * (reduced costs; negative where it is at its upper bound). */
ms_status ms_problem_relax(const ms_problem *problem, const ms_solver_options *options,
                           ms_solution *solution, ms_error *err);

/* The version of GLPK, e.g. "5.0". Static text. */
const char *ms_solver_version(void);

#endif
