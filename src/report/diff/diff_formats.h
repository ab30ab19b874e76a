/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Writers of the formats of a diff; their rows are in diff_report.c.
 */
#ifndef MS_REPORT_DIFF_DIFF_FORMATS_H
#define MS_REPORT_DIFF_DIFF_FORMATS_H

#include <stdio.h>

#include "report/diff/diff_view.h"

void ms_diff_console(FILE *out, const ms_diff_view *view);
void ms_diff_json(FILE *out, const ms_diff_view *view);
void ms_diff_markdown(FILE *out, const ms_diff_view *view);
void ms_diff_html(FILE *out, const ms_diff_view *view);

#endif
