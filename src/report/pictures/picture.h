/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The two pictures of an analysis as SVG elements, for HTML pages and for separate files: memory
 * over the step, and the composition of the peak.
 */
#ifndef MS_REPORT_PICTURES_PICTURE_H
#define MS_REPORT_PICTURES_PICTURE_H

#include "report/kit/draw.h"
#include "report/view/view.h"

/* Sizes of the pictures in pixels, and the plot area of the timeline. */
enum { MS_PICTURE_WIDTH = 1040, MS_TIMELINE_HEIGHT = 420, MS_COMPOSITION_HEIGHT = 380 };
extern const ms_rectangle ms_timeline_plot;

#endif
