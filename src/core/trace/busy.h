/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * How long something is busy that does several things, which may overlap.
 */
#ifndef MS_CORE_TRACE_BUSY_H
#define MS_CORE_TRACE_BUSY_H

#include "base/vec.h"

typedef struct ms_busy_span {
    double begin_ms, end_ms;
    double weight; /* how many such spans it stands for */
} ms_busy_span;

typedef ms_vec(ms_busy_span) ms_busy_spans;

/* The length of what the spans cover, each moment counted once; sorts them. A moment has the weight
 * of the span that begins first. */
double ms_busy_ms(ms_busy_spans *spans);

#endif
