/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Two curves of memory in one picture: what is compared, side by side.
 */
#ifndef MS_REPORT_PICTURES_CURVES_H
#define MS_REPORT_PICTURES_CURVES_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

typedef struct ms_curve_spot {
    double x;
    uint64_t bytes;
} ms_curve_spot;

typedef struct ms_memory_curve {
    const char *name;
    ms_curve_spot *spots; /* ascending by x */
    uint32_t count;
} ms_memory_curve;

typedef struct ms_two_curves {
    ms_memory_curve curves[2]; /* a line, and a dashed one */
    const char *x_title;
    const char *label; /* for screen readers */
    bool has_mark;     /* a vertical line at mark_x */
    double mark_x;
} ms_two_curves;

/* Two SVG elements of a page, one for the width of a phone. Nothing where a curve has no points. */
void ms_two_curves_html(FILE *out, const ms_two_curves *both);

#endif
