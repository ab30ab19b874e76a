/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * When a search must end with its best result so far: at a deadline, or when asked to stop.
 */
#ifndef MS_BASE_DEADLINE_H
#define MS_BASE_DEADLINE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <time.h>

/* Non-zero means stop. A signal handler or another thread may set it. */
typedef atomic_int ms_stop;

bool ms_stop_asked(const ms_stop *stop); /* NULL: never */

/* Milliseconds of a monotonic clock. */
double ms_now_ms(void);

typedef struct ms_deadline {
    const ms_stop *stop; /* or NULL */
    struct timespec end;
} ms_deadline;

/* A deadline `seconds` from now, at most 10^9. */
ms_deadline ms_deadline_begin(double seconds, const ms_stop *stop);

bool ms_deadline_stopped(const ms_deadline *limit);
bool ms_deadline_reached(const ms_deadline *limit); /* stopped, or out of time */
double ms_deadline_left_s(const ms_deadline *limit);

#endif
