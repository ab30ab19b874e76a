/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What the script of a page reads of the timeline: its points, and what there is at each.
 */
#ifndef MS_REPORT_STEP_HTML_TIMELINE_H
#define MS_REPORT_STEP_HTML_TIMELINE_H

#include "report/view/view.h"

/* A list of names and a JSON object that refers to them. False: out of memory. */
bool ms_html_timeline_data(FILE *out, const ms_view *view);

#endif
