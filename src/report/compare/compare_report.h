/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Reports of comparisons of two reports: one row per format.
 */
#ifndef MS_REPORT_COMPARE_COMPARE_REPORT_H
#define MS_REPORT_COMPARE_COMPARE_REPORT_H

#include <stddef.h>
#include <stdio.h>

#include "compare/compare_view.h"

void ms_compare_console(FILE *out, const ms_compare_view *view);
void ms_compare_json(FILE *out, const ms_compare_view *view);
void ms_compare_markdown(FILE *out, const ms_compare_view *view);
void ms_compare_html(FILE *out, const ms_compare_view *view);

/* Draws both timelines in one picture of width MS_PICTURE_WIDTH. */
enum { MS_COMPARE_PICTURE_HEIGHT = 320 };
void ms_compare_picture(FILE *out, const ms_compare_view *view);

/* Names of the formats, in the order of the help; NULL past the last. */
const char *ms_compare_format_name(size_t index);
/* Makes the comparison and writes it; the caller checks `out` for errors. */
ms_status ms_compare_report(const ms_recorded *first, const ms_recorded *second, const char *format,
                            FILE *out, ms_error *err);

ms_status ms_compare_view_make(ms_arena *arena, const ms_recorded *first, const ms_recorded *second,
                               ms_compare_view *view, ms_error *err);

#endif
