/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What a plan that is begun takes at least in the end, by prices of bytes: rows earn what they
 * still need, candidates what they free.
 */
#ifndef MS_DECIDE_PLAN_MODULES_PROMISES_H
#define MS_DECIDE_PLAN_MODULES_PROMISES_H

#include "decide/plan/modules/curves.h"

/* Place i lies before candidate i, and the last place behind all. */
typedef struct ms_promises {
    const ms_candidates *candidates;
    const double *price;        /* by candidate: of a MiB, never rising, at least 0 */
    uint32_t *inside;           /* by candidate: candidates inside it */
    double *rest_ms, *needs_ms; /* by place: of candidates, and of rows, at prices */
} ms_promises;

/* Allocates in the arena. */
ms_status ms_promises_make(ms_arena *arena, const ms_candidates *candidates,
                           const ms_curves *curves, const double *price, ms_promises *promises);

/* The least that a plan takes which frees so much before a place in so many ms. */
double ms_promise_ms(const ms_promises *promises, uint32_t place, double bytes, double ms);

/* What the last row needs that is at a place or before it. */
double ms_promise_need(const ms_promises *promises, uint32_t place);

#endif
