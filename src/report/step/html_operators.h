/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The table of operators: the largest of them where there are very many.
 */
#ifndef MS_REPORT_STEP_HTML_OPERATORS_H
#define MS_REPORT_STEP_HTML_OPERATORS_H

#include "report/step/html_report.h"

/* False: out of memory. */
bool ms_html_operators(FILE *out, const ms_view *view);

#endif
