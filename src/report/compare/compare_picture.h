/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Both timelines in one picture, in a frame of MS_PICTURE_WIDTH.
 */
#ifndef MS_REPORT_COMPARE_COMPARE_PICTURE_H
#define MS_REPORT_COMPARE_COMPARE_PICTURE_H

#include <stdio.h>

#include "compare/compare_view.h"

enum { MS_COMPARE_PICTURE_HEIGHT = 320 };
void ms_compare_picture(FILE *out, const ms_compare_view *view);

#endif
