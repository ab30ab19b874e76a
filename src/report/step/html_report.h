/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Sections of the page of an analysis, for that page and for a plan's.
 */
#ifndef MS_REPORT_STEP_HTML_REPORT_H
#define MS_REPORT_STEP_HTML_REPORT_H

#include "report/kit/html.h"
#include "report/view/view.h"

/* Budget and what it goes to. */
void ms_html_headroom(FILE *out, const ms_view *view);

/* The picture of the timeline, with the values that the script shows. */
bool ms_html_timeline(FILE *out, const ms_view *view);
bool ms_html_composition(FILE *out, const ms_view *view);

void ms_html_not_modelled(FILE *out, const ms_view *view);

#endif
