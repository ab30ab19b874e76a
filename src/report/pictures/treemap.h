/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Rectangles of a treemap.
 */
#ifndef MS_REPORT_PICTURES_TREEMAP_H
#define MS_REPORT_PICTURES_TREEMAP_H

#include "report/pictures/picture.h"

/* Divides a frame into `count` areas of these sizes, descending, as square as possible (squarified
 * treemap, Bruls et al., 2000). */
void ms_treemap(const double *sizes, uint32_t count, ms_rectangle frame, ms_rectangle *out);

#endif
