/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The curve of time against budget as a picture, for a page too.
 */
#ifndef MS_REPORT_PLAN_CURVE_SVG_H
#define MS_REPORT_PLAN_CURVE_SVG_H

#include "report/plan/plan_view.h"

/* The curve as SVG elements, for a picture of this size in pixels; the head is left empty. */
enum { MS_CURVE_WIDTH = 860, MS_CURVE_HEIGHT = 540, MS_CURVE_HEAD = 58 };
void ms_curve_picture(FILE *out, const ms_plan_view *view);

#endif
