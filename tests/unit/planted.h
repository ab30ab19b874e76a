/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Points of a calibration whose truth is known.
 */
#ifndef UNIT_PLANTED_H
#define UNIT_PLANTED_H

#include "decide/calibrate/fit_memory.h"
#include "unit/support.h"

static const double mib = 1048576.0, gib = 1073741824.0;

typedef struct truth {
    const char *label;
    double workspace, margin, context, product, attention, other;
} truth;

enum { POINTS = 9 };

/* Sizes and shares that have nothing to do with one another. */
static inline void plant(const truth *t, double copy_ms, ms_measured_points *points)
{
    for (uint32_t i = 0; i < POINTS; i++) {
        double told = (3.0 + 7.0 * i) * gib, p = 40.0 + 13.0 * (i * i % 7);
        double a = 5.0 + 11.0 * (i * 5 % 9), o = 20.0 + 3.0 * (i * 4 % 5);
        ms_measured_point point = {.name = "x",
                                   .device = "h100-80gb",
                                   .predicted_reserved = told,
                                   .predicted_ms = {p, a, o},
                                   .predicted_copy_ms = copy_ms};
        point.measured_reserved = told * (1 + t->margin) + t->workspace;
        point.measured_device = point.measured_reserved + t->context;
        point.measured_ms = p * t->product + a * t->attention + o * t->other + copy_ms;
        assert_true(ms_vec_push(points, point));
    }
}

#endif
