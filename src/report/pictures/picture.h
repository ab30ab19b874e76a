/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The two pictures of an analysis as SVG elements, for HTML pages and for separate files: memory
 * over the step, and the composition of the peak.
 */
#ifndef MS_REPORT_PICTURES_PICTURE_H
#define MS_REPORT_PICTURES_PICTURE_H

#include "report/kit/draw.h"
#include "report/view/view.h"

/* Sizes of the pictures in pixels: for pages and files, and for the width of a phone. */
typedef struct ms_picture_shape {
    const char *name; /* a class of the page's style */
    bool is_narrow;   /* without a legend; short labels */
    int width, timeline_height, composition_height;
    ms_rectangle plot; /* the area of the timeline */
} ms_picture_shape;

extern const ms_picture_shape ms_wide_pictures, ms_narrow_pictures;

#endif
