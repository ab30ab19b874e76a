/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * When a search must end with its best result so far: at a deadline, or when asked to stop.
 */
#ifndef MS_BASE_LIMIT_H
#define MS_BASE_LIMIT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <time.h>

/* Non-zero means stop. A signal handler or another thread may set it. */
typedef atomic_int ms_stop;

bool ms_stop_asked(const ms_stop *stop); /* NULL: never */

/* Milliseconds of a monotonic clock. */
double ms_now_ms(void);

typedef struct ms_limit {
    const ms_stop *stop; /* or NULL */
    struct timespec end;
} ms_limit;

/* A deadline `seconds` from now, at most 10^9. */
ms_limit ms_limit_begin(double seconds, const ms_stop *stop);

bool ms_limit_stopped(const ms_limit *limit);
bool ms_limit_reached(const ms_limit *limit); /* stopped, or out of time */
double ms_limit_left_s(const ms_limit *limit);

#endif
