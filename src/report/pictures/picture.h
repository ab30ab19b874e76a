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

/* Stacked categories; phases and layers marked; the peak, and what is reserved and the limit. */
void ms_picture_timeline(FILE *out, const ms_view *view);

/* A treemap: categories, and in them tensors. False: out of memory. */
bool ms_picture_composition(FILE *out, const ms_view *view);

/* Each category that the timeline has, from the top: its colour and name, as a row at `at`. */
void ms_picture_legend(FILE *out, const ms_view *view, ms_spot at);

/* One sentence that describes the timeline. Text of the view's arena; NULL: out of memory. */
const char *ms_timeline_sentence(const ms_view *view);

/* Cuts a frame into `count` areas of these sizes, descending, each as square as can be
 * (squarified treemap, Bruls et al., 2000). */
void ms_treemap(const double *sizes, uint32_t count, ms_rectangle frame, ms_rectangle *out);

#endif
