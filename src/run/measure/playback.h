/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Playback: simulated time while events are played. Operators run in order on the first stream.
 * Work of another stream runs in order and concurrently, at the rate of that stream's link. A
 * stream that needs unfinished work waits for it.
 */
#ifndef MS_RUN_MEASURE_PLAYBACK_H
#define MS_RUN_MEASURE_PLAYBACK_H

#include <stdbool.h>

#include "core/device/device.h"
#include "core/trace/trace.h"

typedef struct ms_playback_span {
    double begin_ms, end_ms;
} ms_playback_span;

typedef struct ms_playback {
    const ms_trace *trace;
    const ms_device *device;
    double now_ms;           /* of the operators' stream */
    bool lacks_rate;         /* work went over a link whose rate is not known, in no time */
    double *ready_ms;        /* per other stream: when its enqueued work is done */
    ms_playback_span *works; /* per work of the trace; zero until played */
} ms_playback;

/* False when out of memory; call ms_playback_free also then. */
bool ms_playback_init(ms_playback *playback, const ms_trace *trace, const ms_device *device);
void ms_playback_free(ms_playback *playback);

/* Each returns a duration in ms: of an operator; of work on its stream; of a wait of the operators'
 * stream, 0 when the work is done or another stream waits. */
double ms_playback_op(ms_playback *playback, const ms_op_exec *op);
double ms_playback_work(ms_playback *playback, uint32_t work);
double ms_playback_wait(ms_playback *playback, uint32_t wait);

/* ---- clock ---- */

/* Clock: the time of operators on a device. Operators run one after the other.
 *
 * Roofline: the larger of FLOPs / dense rate and bytes / bandwidth, both of the data sheet; no
 * kernel is faster. With the rates that the device reaches (core/device/rates.h):
 *
 *     product    kernels * kernel_us + FLOPs / (share * dense rate) + traffic * bytes / bandwidth
 *     attention  the same, with the figures of its pass
 *     other      kernels * kernel_us + bytes / (memory_share * bandwidth)
 *
 * and none faster than its bytes at that share of the bandwidth; all divided by step_share. A
 * calibration's classes are multiples of the roofline; an MFU is the share of the dense rate for
 * products and attention. */

/* Arithmetic rate for operands of a dtype, FLOP/s; 0 when unknown. */
double ms_clock_rate_flops(const ms_device *device, ms_dtype dtype);

/* Milliseconds of one execution of an operator by the roofline; 0 when the memory bandwidth is
 * unknown. */
double ms_clock_roofline_ms(const ms_device *device, const ms_op_exec *op);

/* Milliseconds of one execution at what is known of the device: an MFU, a calibration, the rates
 * that it reaches, the roofline, the first of them that there is. */
double ms_clock_op_ms(const ms_device *device, const ms_op_exec *op);

#endif
