/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Drawing SVG: texts, lines, axes, and the header of a separate file. Colours are classes of
 * html/picture.css.
 */
#ifndef MS_REPORT_KIT_DRAW_H
#define MS_REPORT_KIT_DRAW_H

/* Begins what a screen reader does not read of a picture, whose label tells the main thing; "</g>"
 * ends it. */
#define MS_DRAW_UNREAD "<g aria-hidden=\"true\">\n"

#include <stdint.h>
#include <stdio.h>

#include "report/kit/escape.h"
#include "base/text/number.h"

typedef struct ms_spot {
    double x, y;
} ms_spot;

typedef struct ms_rectangle {
    double x, y, width, height;
} ms_rectangle;

/* `attributes` is written into the tag unescaped. */
void ms_draw_text(FILE *out, ms_spot at, const char *attributes, const char *text);
void ms_draw_line(FILE *out, ms_spot from, ms_spot to, const char *class_name);
/* " x=... y=... width=... height=..." */
void ms_draw_frame(FILE *out, const ms_rectangle *frame);
/* "12.3,45.6" */
void ms_draw_spot(FILE *out, ms_spot spot);

/* An axis with round numbers: steps of 1, 2 or 5 times a power of ten. */
typedef struct ms_plot_axis {
    double low, high, step; /* multiples of step */
} ms_plot_axis;

ms_plot_axis ms_plot_axis_around(double low, double high);
/* The position of a value, where low is at `from` and high at `to`. */
double ms_plot_axis_along(const ms_plot_axis *axis, double value, double from, double to);
int ms_plot_axis_tick_count(const ms_plot_axis *axis);
uint32_t ms_plot_axis_decimals(const ms_plot_axis *axis);

double ms_draw_gib(uint64_t bytes); /* for drawing only */

/* Begins a separate file, with a text for screen readers; the caller writes "</svg>". */
void ms_draw_begin_file(FILE *out, uint32_t width, uint32_t height, const char *title,
                        const char *description);

#endif
