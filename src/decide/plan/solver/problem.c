/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "decide/plan/solver/problem.h"

#include <stdlib.h>

/* ---- outcome ---- */

const char *const ms_plan_outcome_names[] = {
    [MS_PLAN_OPTIMAL] = "optimal",
    [MS_PLAN_INFEASIBLE] = "infeasible",
    [MS_PLAN_LIMIT] = "limit",
    [MS_PLAN_STOPPED] = "stopped",
};

/* ---- problem ---- */

uint32_t ms_problem_column(ms_problem *problem, ms_problem_bounds bounds, double cost,
                           bool is_integer)
{
    if (!ms_vec_push(&problem->columns, (struct ms_problem_column){bounds, cost, is_integer})) {
        problem->no_memory = true;
        return 0;
    }
    return problem->columns.count - 1;
}

void ms_problem_row(ms_problem *problem, ms_problem_bounds bounds)
{
    if (!ms_vec_push(&problem->rows, (struct ms_problem_row){bounds, problem->terms.count}))
        problem->no_memory = true;
}

void ms_problem_term(ms_problem *problem, uint32_t column, double coefficient)
{
    if (!ms_vec_push(&problem->terms, (struct ms_problem_term){column, coefficient}))
        problem->no_memory = true;
}

void ms_problem_free(ms_problem *problem)
{
    ms_vec_free(&problem->columns);
    ms_vec_free(&problem->rows);
    ms_vec_free(&problem->terms);
}

void ms_solution_free(ms_solution *solution)
{
    free(solution->values);
    free(solution->prices);
    solution->values = solution->prices = NULL;
}
