/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * How the search for a plan ended.
 */
#ifndef MS_DECIDE_PLAN_SOLVER_OUTCOME_H
#define MS_DECIDE_PLAN_SOLVER_OUTCOME_H

typedef enum ms_plan_outcome {
    MS_PLAN_OPTIMAL, /* proven within the gap */
    MS_PLAN_INFEASIBLE,
    MS_PLAN_LIMIT,  /* out of time */
    MS_PLAN_STOPPED /* on request */
} ms_plan_outcome;
extern const char *const ms_plan_outcome_names[]; /* by ms_plan_outcome */

#endif
