/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The table of operators, and the data of the page's script.
 */
#ifndef MS_REPORT_STEP_HTML_OPERATORS_H
#define MS_REPORT_STEP_HTML_OPERATORS_H

#include "report/step/html_report.h"

void ms_html_timeline_data(FILE *out, const ms_view *view);
/* False: out of memory. */
bool ms_html_operators(FILE *out, const ms_view *view);

#endif
