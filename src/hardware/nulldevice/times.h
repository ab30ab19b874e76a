/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * How long the work given to streams would take. Each stream has a clock of its own, which work
 * moves on when it is given; an event takes the clock of its stream. The host takes no time.
 *
 * Products take what their operations or their operands need at the device's peak rates, copies and
 * fills what their bytes need. Of other kernels only the number of threads is known.
 */
#ifndef MS_HARDWARE_NULLDEVICE_TIMES_H
#define MS_HARDWARE_NULLDEVICE_TIMES_H

#include <stdint.h>

/* In seconds. */
double ms_null_time_of_kernel(uint64_t threads);
double ms_null_time_of_bytes(uint64_t bytes);
/* Of a copy; between host and device by their link. */
double ms_null_time_of_copy(const void *to, const void *from, uint64_t bytes);
/* One product (m x k)(k x n) or several, with elements of so many bytes. */
double ms_null_time_of_products(double m, double n, double k, double count, double element_bytes);

/* Moves the clock of a stream on. */
void ms_null_time_spend(const void *stream, double seconds);
void ms_null_time_record(const void *event, const void *stream);
/* What the stream is given next begins after the event. */
void ms_null_time_join(const void *stream, const void *event);
void ms_null_time_forget(const void *handle);
/* 0 if one of the events is later, or was never recorded. */
double ms_null_time_between(const void *from, const void *to);

#endif
