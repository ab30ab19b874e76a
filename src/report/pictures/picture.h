/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The two pictures of an analysis as SVG elements, for the page and for a file of their own: memory
 * over the step, and what the peak is made of.
 */
#ifndef MS_REPORT_PICTURES_PICTURE_H
#define MS_REPORT_PICTURES_PICTURE_H

#include "report/kit/draw.h"
#include "report/view/view.h"

/* In pixels: a picture of the timeline, and the plot in it. */
enum { MS_PICTURE_WIDTH = 1040, MS_TIMELINE_HEIGHT = 420, MS_COMPOSITION_HEIGHT = 380 };
extern const ms_rectangle ms_timeline_plot;

#endif
