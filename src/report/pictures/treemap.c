/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/pictures/treemap.h"

#include <math.h>

#include "report/pictures/picture.h"

/* The worst ratio of sides when sizes[0 .. count - 1], `sum` together, share a row of this length;
 * sizes are in pixels. */
static double worst_ratio(const double *sizes, uint32_t count, double sum, double length)
{
    double worst = 0, thick = sum / length;
    for (uint32_t i = 0; i < count; i++) {
        double side = sizes[i] / thick;
        double ratio = side > 0 ? fmax(side / thick, thick / side) : INFINITY;
        worst = fmax(worst, ratio);
    }
    return worst;
}

/* Puts a row along the shorter side and returns what is left of the frame. */
static ms_rectangle place_row(const double *sizes, uint32_t count, double sum, ms_rectangle f,
                              ms_rectangle *out)
{
    bool is_column = f.width >= f.height;
    double length = is_column ? f.height : f.width;
    double thick = length > 0 ? sum / length : 0, at = 0;
    for (uint32_t i = 0; i < count; i++) {
        double side = thick > 0 ? sizes[i] / thick : 0;
        out[i] = is_column ? (ms_rectangle){f.x, f.y + at, thick, side}
                           : (ms_rectangle){f.x + at, f.y, side, thick};
        at += side;
    }
    if (is_column)
        return (ms_rectangle){f.x + thick, f.y, fmax(f.width - thick, 0), f.height};
    return (ms_rectangle){f.x, f.y + thick, f.width, fmax(f.height - thick, 0)};
}

void ms_treemap(const double *sizes, uint32_t count, ms_rectangle frame, ms_rectangle *out)
{
    for (uint32_t begin = 0; begin < count;) {
        double length = fmin(frame.width, frame.height), sum = sizes[begin];
        uint32_t row = 1;
        while (begin + row < count &&
               worst_ratio(sizes + begin, row + 1, sum + sizes[begin + row], length) <=
                   worst_ratio(sizes + begin, row, sum, length))
            sum += sizes[begin + row++];
        frame = place_row(sizes + begin, row, sum, frame, out + begin);
        begin += row;
    }
}
