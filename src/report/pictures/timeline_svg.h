/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Memory over the step: stacked categories, with phases in the background and layers below.
 */
#ifndef MS_REPORT_PICTURES_TIMELINE_SVG_H
#define MS_REPORT_PICTURES_TIMELINE_SVG_H

#include "report/pictures/picture.h"

/* Draws stacked categories, phases and layers, the peak, reserved memory and the limit. */
void ms_picture_timeline(FILE *out, const ms_view *view, const ms_picture_shape *shape);
/* Draws a legend of the timeline's categories, from the top, as a row at `at`. */
void ms_picture_legend(FILE *out, const ms_view *view, ms_spot at);
/* A sentence that describes the timeline, in the view's arena; NULL: out of memory. */
const char *ms_timeline_sentence(const ms_view *view);

#endif
