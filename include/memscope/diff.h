/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * How two runs differ: in their settings, in their peaks, and in what uses the memory.
 *
 *     ms_error err = {0};
 *     ms_comparison *c = ms_comparison_make("before.json", "llama-3.1-8b", NULL, &err);
 *     ms_comparison_write(c, "console", stdout, &err);
 *     ms_comparison_free(c);
 */
#ifndef MEMSCOPE_DIFF_H
#define MEMSCOPE_DIFF_H

#include "memscope/memscope.h"

#ifdef __cplusplus
extern "C" {
#endif

#define MS_COMPARISON_SCHEMA_VERSION "1.1"

typedef struct ms_comparison ms_comparison;

/* Each side is a report (static_report.json, plan.json of a run, or the JSON of inference, with
 * another of its kind), a run file, or a value of the field "config" of a run; the last two are
 * analyzed, with the fields set in `run` (or NULL). "-" is a report on standard input. NULL on
 * failure. */
ms_comparison *ms_comparison_make(const char *a, const char *b, const ms_run *run, ms_error *err);
/* The same, where b also has the fields set in `more`, which win over those of `run`, and is called
 * `title` in the result (NULL: b). */
ms_comparison *ms_comparison_make_with(const char *a, const char *b, const ms_run *run,
                                       const ms_run *more, const char *title, ms_error *err);
void ms_comparison_free(ms_comparison *comparison);

/* True when nothing that was compared differs. */
bool ms_comparison_is_same(const ms_comparison *comparison);

/* As ms_analysis_set_style. */
void ms_comparison_set_style(ms_comparison *comparison, const ms_style *style);

/* Writes "console", "json", "md" or "html". */
ms_status ms_comparison_write(const ms_comparison *comparison, const char *format, FILE *out,
                              ms_error *err);

/* One row per format, for help texts; NULL past the last. */
const ms_report_format *ms_comparison_format_at(size_t index);

#ifdef __cplusplus
}
#endif
#endif
