/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Plans: how to treat each layer of a run, or what to keep and what to recompute of a graph, so
 * that a step fits a budget at little cost in time.
 *
 *     ms_error err = {0};
 *     ms_plan *plan = ms_plan_create();
 *     ms_plan_set_run(plan, "config", "llama-3.1-8b", &err);
 *     ms_plan_set(plan, "budget", "65GiB", &err);
 *     ms_plan_solve(plan, &err);
 *     ms_plan_write(plan, "console", stdout, &err);
 *     ms_plan_free(plan);
 *
 * A plan belongs to one thread at a time. The thread that solves it must not use GLPK at the same
 * time. Only ms_plan_stop may be called from other threads.
 */
#ifndef MEMSCOPE_PLAN_H
#define MEMSCOPE_PLAN_H

#include "memscope/memscope.h"

#ifdef __cplusplus
extern "C" {
#endif

#define MS_PLAN_SCHEMA_VERSION "1.5"

typedef struct ms_plan ms_plan;

ms_plan *ms_plan_create(void); /* NULL when out of memory */
void ms_plan_free(ms_plan *plan);

/* One row per field; a field without value_name is a flag and takes "true" or "false". */
const ms_run_field *ms_plan_fields(size_t *count);
/* The values of a field that is a choice, or the elements its list may have; NULL past the last,
 * and for any other field. */
const char *ms_plan_field_choice(const char *field, size_t index);

/* Sets a field by the name of its command-line option without the dashes. */
ms_status ms_plan_set(ms_plan *plan, const char *field, const char *value, ms_error *err);

/* Sets a field of the run that is planned, as ms_run_set does. With a "config" the plan is for that
 * run, otherwise for the file that "graph" or "ops" names. The run's own treatments of layers are
 * ignored. */
ms_status ms_plan_set_run(ms_plan *plan, const char *field, const char *value, ms_error *err);

/* As ms_run_set_inputs; call it before ms_plan_solve. */
void ms_plan_set_inputs(ms_plan *plan, ms_inputs *inputs);

/* Counts the simulations of ms_plan_solve in `watch`, which must outlive that call.
 */
void ms_plan_set_watch(ms_plan *plan, ms_watch *watch);

/* Reads the files and plans. MS_ERR_INFEASIBLE when no plan was found that fits, MS_ERR_STOPPED
 * when ms_plan_stop was called before a proof; both are answers too and can be written. */
ms_status ms_plan_solve(ms_plan *plan, ms_error *err);

/* Makes ms_plan_solve end soon, with the best plan found by then. Safe in a signal handler and in
 * any thread; it applies to every later call as well. */
void ms_plan_stop(ms_plan *plan);

/* Sentences about an accepted input that a user should know; NULL past the last. */
const char *ms_plan_note(const ms_plan *plan, size_t index);
/* The verdict of a solved plan: MS_VERDICT_NO where none was found, MS_VERDICT_UNKNOWN where
 * settings of the run's files that are not predicted decide. */
ms_fit_verdict ms_plan_verdict(const ms_plan *plan);

/* As ms_analysis_set_style. */
void ms_plan_set_style(ms_plan *plan, const ms_style *style);

/* Writes the answer: "console", "json", "md" or "html"; for a curve "csv" and "svg" too. */
ms_status ms_plan_write(const ms_plan *plan, const char *format, FILE *out, ms_error *err);

/* One row per format, for help texts; NULL past the last. */
const ms_report_format *ms_plan_format_at(size_t index);

#ifdef __cplusplus
}
#endif
#endif
