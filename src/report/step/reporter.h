/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Reporters: one row per output format.
 */
#ifndef MS_REPORT_STEP_REPORTER_H
#define MS_REPORT_STEP_REPORTER_H

#include <stdio.h>

#include "memscope/memscope.h"
#include "report/view/view.h"

typedef struct ms_reporter {
    ms_report_format format;
    bool shows_advice; /* its view needs suggestions */
    /* Writes the report; ms_report_write checks `out` for errors. False: out of memory. */
    bool (*write)(FILE *out, const ms_view *view);
} ms_reporter;

bool ms_report_console(FILE *out, const ms_view *view);
bool ms_report_json(FILE *out, const ms_view *view);
bool ms_report_markdown(FILE *out, const ms_view *view);
bool ms_report_csv(FILE *out, const ms_view *view);
bool ms_report_html(FILE *out, const ms_view *view);
bool ms_report_svg(FILE *out, const ms_view *view);
bool ms_report_chrome_trace(FILE *out, const ms_view *view);
bool ms_report_trace(FILE *out, const ms_view *view);
bool ms_report_memory_viz(FILE *out, const ms_view *view);
bool ms_report_speedscope(FILE *out, const ms_view *view);
bool ms_report_folded(FILE *out, const ms_view *view);

/* NULL when there is no such format; err then lists the formats. */
const ms_reporter *ms_reporter_find(const char *format, ms_error *err);

/* Writes, flushes and checks for errors, such as a full disk. */
ms_status ms_report_write(const ms_reporter *reporter, const ms_view *view, FILE *out,
                          ms_error *err);

#endif
