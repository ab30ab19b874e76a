/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * One run on many devices: which of them it fits, the largest value that fits each, or a plan for
 * each.
 *
 *     ms_error err = {0};
 *     ms_run *run = ms_run_create();
 *     ms_run_set(run, "config", "llama-3.1-8b", &err);
 *     ms_devices *table = ms_devices_analyze(run, "all", &err);
 *     ms_devices_write(table, "console", stdout, &err);
 *     ms_devices_free(table);
 *     ms_run_free(run);
 *
 * Devices that the run fits come first, of them the smallest, then those where it is tight, then
 * those that it does not fit. A device that the run cannot be predicted for is a row that says why.
 */
#ifndef MEMSCOPE_DEVICES_H
#define MEMSCOPE_DEVICES_H

#include "memscope/memscope.h"
#include "memscope/plan.h"

#ifdef __cplusplus
extern "C" {
#endif

#define MS_DEVICES_SCHEMA_VERSION "1.3"

typedef struct ms_devices ms_devices;

/* Whether the text stands for several devices: "all", or names separated by commas. */
bool ms_devices_are_listed(const char *devices);

/* As ms_analyze, ms_fit_find and ms_plan_solve for each device of the list; the device that the run
 * names is ignored. NULL on failure, also where no device has figures: `err` is then the reason of
 * the smallest. The result does not refer to `run` or `plan` afterwards. */
ms_devices *ms_devices_analyze(const ms_run *run, const char *devices, ms_error *err);
ms_devices *ms_devices_fit(const ms_run *run, const char *devices, const char *what, uint64_t step,
                           ms_error *err);
ms_devices *ms_devices_plan(const ms_plan *plan, const char *devices, ms_error *err);
void ms_devices_free(ms_devices *table);

/* How many devices something fits, if only just. */
uint64_t ms_devices_fit_count(const ms_devices *table);
/* The best verdict of any device: MS_VERDICT_UNKNOWN where none is known to fit, and settings that
 * are not predicted decide on one. */
ms_fit_verdict ms_devices_verdict(const ms_devices *table);

/* As ms_analysis_note, of what holds for every device; and as ms_analysis_set_style. */
const char *ms_devices_note(const ms_devices *table, size_t index);
void ms_devices_set_style(ms_devices *table, const ms_style *style);

/* Writes "console", "json", "md" or "html". */
ms_status ms_devices_write(const ms_devices *table, const char *format, FILE *out, ms_error *err);

/* Names of the formats; NULL past the last. */
const char *ms_devices_format_at(size_t index);

#ifdef __cplusplus
}
#endif
#endif
