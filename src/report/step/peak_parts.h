/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What the peak of an analysis is made of, as text: shares with bars on the console, tables with
 * exact bytes in Markdown. Each takes a struct ms_view.
 */
#ifndef MS_REPORT_STEP_PEAK_PARTS_H
#define MS_REPORT_STEP_PEAK_PARTS_H

#include "report/kit/page.h"

void ms_peak_console(const ms_page *page, const void *view);
void ms_peak_markdown(FILE *out, const void *view);

#endif
