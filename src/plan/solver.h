/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The linear solver behind the planner. Only solver.c knows which one it is.
 */
#ifndef MS_PLAN_SOLVER_H
#define MS_PLAN_SOLVER_H

/* The version of GLPK, e.g. "5.0". Static text. */
const char *ms_solver_version(void);

#endif
