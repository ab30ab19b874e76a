/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Plans: what to keep and what to compute again, so that a step fits a budget.
 *
 *     ms_error err = {0};
 *     ms_plan *plan = ms_plan_create();
 *     ms_plan_set(plan, "graph", "modules.json", &err);
 *     ms_plan_set(plan, "budget", "40GiB", &err);
 *     ms_plan_solve(plan, &err);
 *     ms_plan_write(plan, "json", stdout, &err);
 *     ms_plan_free(plan);
 *
 * A plan belongs to one thread, and to the one that solves it; that thread must not use GLPK at the
 * same time. Only ms_plan_stop may come from elsewhere.
 */
#ifndef MEMSCOPE_PLAN_H
#define MEMSCOPE_PLAN_H

#include "memscope/memscope.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ms_plan ms_plan;

ms_plan *ms_plan_create(void); /* NULL when out of memory */
void ms_plan_free(ms_plan *plan);

/* One row per field; a field without value_name is a flag and takes "true" or "false". */
const ms_run_field *ms_plan_fields(size_t *count);

/* Sets a field by the name of its command-line option without the dashes. */
ms_status ms_plan_set(ms_plan *plan, const char *field, const char *value, ms_error *err);

/* Reads the file and plans. MS_ERR_INFEASIBLE when nothing fits, MS_ERR_STOPPED when ms_plan_stop
 * came before a proof; these too are answers and can be written. */
ms_status ms_plan_solve(ms_plan *plan, ms_error *err);

/* Makes ms_plan_solve end soon, with the best plan that it has by then. Safe in a signal handler
 * and in any thread; holds for every later call. */
void ms_plan_stop(ms_plan *plan);

/* What a user should know about an input that was accepted: sentences; NULL past the last. */
const char *ms_plan_note(const ms_plan *plan, size_t index);

/* Writes the answer: "console" or "json". */
ms_status ms_plan_write(const ms_plan *plan, const char *format, FILE *out, ms_error *err);

#ifdef __cplusplus
}
#endif
#endif
