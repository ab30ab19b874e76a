/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Profile: the last step of a trace, divided into spans where another layer or phase begins, with
 * live bytes and time of each span.
 *
 * Times are those of run/measure/playback.h. A trace without recorded operators has no times.
 */
#ifndef MS_RUN_MEASURE_PROFILE_H
#define MS_RUN_MEASURE_PROFILE_H

#include <math.h>
#include "core/allocator/allocator.h"
#include "base/error.h"
#include "base/vec.h"
#include "core/device/device.h"
#include "run/measure/schedule.h"
#include "core/trace/trace.h"

typedef struct ms_profile_span {
    uint32_t layer; /* MS_NONE: outside the layers */
    uint8_t phase;  /* ms_phase */
    uint32_t micro_step;
    uint32_t repeats;     /* micro-steps it represents; else 1 */
    uint32_t first_event; /* of the trace; the span ends at that of the next one */
    uint64_t begin_bytes, peak_bytes, end_bytes; /* live, each tensor rounded up to a block */
    uint64_t late_bytes; /* of a layer's forward: allocated by it and freed after the last layer, at
                            the end of the phase */
    uint64_t input_bytes; /* of the first layer's forward: allocated before it and freed after the
                             last layer, before the loss */
    uint64_t sent_bytes;  /* saved tensors offloaded to the host */
    uint64_t released_bytes; /* freed because it was offloaded */
    uint64_t returned_bytes; /* allocated to fetch another layer's tensors */
    double compute_ms;       /* including recomputation */
    double recompute_ms;
    double exposed_ms;               /* waiting for copies and host updates */
    double exposed_below_ms;         /* of that, for copies of the layer below */
    double to_host_ms, from_host_ms; /* copies started in it, hidden or exposed */
    double flops;
} ms_profile_span;

/* A copy between device and host that a layer's treatment begins, or a wait for one. */
typedef struct ms_profile_copy {
    bool is_wait;
    uint8_t kind;      /* ms_work_kind of the copy */
    uint32_t layer;    /* whose it is */
    uint32_t work;     /* of the trace */
    uint32_t span;     /* in which it happens */
    double compute_ms; /* computed in that span before */
    double copy_ms;
} ms_profile_copy;

typedef struct ms_step_time {
    double step_ms; /* compute, exposed and retries' time, including repeats */
    double compute_ms, recompute_ms, exposed_ms;
    double copy_ms;  /* both directions, hidden or exposed */
    double retry_ms; /* the allocator returns memory and takes it again (ms_usage_retry_ms); 0 of a
                        profile without a usage */
    bool lacks_rate; /* a link's rate is not known: the step takes longer, by waits for it */
} ms_step_time;

/* How long operators wait, in ms; NaN where a link's rate is not known. */
static inline double ms_step_waiting_ms(const ms_step_time *time)
{
    return time->lacks_rate ? NAN : time->exposed_ms;
}

/* Work of one kind over one link in a step. */
typedef struct ms_profile_work {
    uint64_t calls, bytes;
    double exposed_ms; /* operators wait for it; 0 over a link of unknown rate */
} ms_profile_work;

typedef struct ms_profile {
    ms_vec(ms_profile_span) spans;
    ms_vec(ms_profile_copy) copies; /* of layers, in the order of the step */
    ms_turn_list turns;
    ms_step_time time;
    /* Communication with other ranks, by ms_work_kind and ms_link: MS_LINK_PEER within a host,
     * MS_LINK_NONE between hosts; bytes that go through this rank's link. Of copies and updates
     * nothing is here. */
    ms_profile_work communication[MS_WORK_KINDS][MS_LINK_COUNT];
} ms_profile;

/* `kind` determines the block size: 512 bytes, except for the raw allocator. */
ms_status ms_profile_build(const ms_trace *trace, const ms_device *device, ms_allocator_kind kind,
                           ms_profile *profile, ms_error *err);
void ms_profile_free(ms_profile *profile);

#endif
