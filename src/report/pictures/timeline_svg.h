/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Memory over the step: categories stacked, phases behind them, layers below.
 */
#ifndef MS_REPORT_PICTURES_TIMELINE_SVG_H
#define MS_REPORT_PICTURES_TIMELINE_SVG_H

#include "report/pictures/picture.h"

/* Stacked categories; phases and layers marked; the peak, and what is reserved and the limit. */
void ms_picture_timeline(FILE *out, const ms_view *view);
/* Each category that the timeline has, from the top: its colour and name, as a row at `at`. */
void ms_picture_legend(FILE *out, const ms_view *view, ms_spot at);
/* One sentence that describes the timeline. Text of the view's arena; NULL: out of memory. */
const char *ms_timeline_sentence(const ms_view *view);

#endif
