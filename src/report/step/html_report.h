/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Sections of the HTML page of an analysis, also used by the page of a plan.
 */
#ifndef MS_REPORT_STEP_HTML_REPORT_H
#define MS_REPORT_STEP_HTML_REPORT_H

#include "report/kit/tree/tree.h"
#include "report/view/view.h"

/* The budget and its use. */
void ms_html_headroom(FILE *out, const ms_view *view);

/* Of a struct ms_view: the picture of the timeline, with the data of the script. */
bool ms_html_timeline(FILE *out, const void *view);
bool ms_html_composition(FILE *out, const void *view);

/* What the figures leave out. */
void ms_not_modelled_tree(ms_tree *tree, const ms_view *view, unsigned where);

#endif
