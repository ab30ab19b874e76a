/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Parts of the page of an analysis, also of a plan's. Each draws a struct ms_view; false: out of
 * memory.
 */
#ifndef MS_REPORT_STEP_HTML_REPORT_H
#define MS_REPORT_STEP_HTML_REPORT_H

#include "report/kit/tree/tree.h"
#include "report/view/view.h"

/* The picture of the timeline, with the data of the script. */
bool ms_html_timeline(FILE *out, const void *view);
bool ms_html_composition(FILE *out, const void *view);
/* All figures of the summary. */
bool ms_html_summary(FILE *out, const void *view);

/* What the figures leave out: a section. */
void ms_not_modelled_tree(ms_tree *tree, const ms_view *view, unsigned where);

#endif
