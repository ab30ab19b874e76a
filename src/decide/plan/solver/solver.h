/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Solving linear problems with integer columns; only solver.c depends on the solver library (GLPK).
 */
#ifndef MS_DECIDE_PLAN_SOLVER_SOLVER_H
#define MS_DECIDE_PLAN_SOLVER_SOLVER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/deadline.h"
#include "decide/plan/solver/problem.h"

typedef struct ms_solver_options {
    double gap;          /* relative; 0 = to the optimum */
    double time_limit_s; /* checked between nodes of the search */
    double enough;       /* a bound that ends the search; 0 = none */
    const ms_stop *stop; /* or NULL; checked between nodes */
    uint32_t memory_mib; /* memory limit of the solver; 0 = no limit */
    uint32_t nodes;      /* limit of search nodes, independent of the machine; 0 = no limit */
    bool has_few_cuts;   /* sooner done, with a weaker bound: no mixed-integer and Gomory cuts */
} ms_solver_options;

/* Values are exact only to the solver's tolerance; recount what must hold exactly. Free the
 * solution also after a failure. */
ms_status ms_problem_solve(const ms_problem *problem, const ms_solver_options *options,
                           ms_solution *solution, ms_error *err);
/* Solves the relaxation without integers to the optimum, or shows that it has no solution.
 * prices[i] is the reduced cost of column i: each unit above its lower bound raises the objective
 * by at least that much (negative at the upper bound). */
ms_status ms_problem_relax(const ms_problem *problem, const ms_solver_options *options,
                           ms_solution *solution, ms_error *err);

/* The version of GLPK, e.g. "5.0". Static text. */
const char *ms_solver_version(void);

#endif
