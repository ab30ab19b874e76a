/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Profile: the last step of a trace cut where another layer or phase begins, with the bytes that
 * are live and the time that passes in each stretch.
 *
 * Time runs as in measure/playback.h. A trace of which operators were not recorded has no time.
 */
#ifndef MS_MEASURE_PROFILE_H
#define MS_MEASURE_PROFILE_H

#include "allocator/allocator.h"
#include "base/error.h"
#include "base/vec.h"
#include "device/device.h"
#include "trace/trace.h"

typedef struct ms_profile_span {
    uint32_t layer; /* MS_NONE: outside the layers */
    uint8_t phase;  /* ms_phase */
    uint32_t micro_step;
    uint32_t repeats;                            /* micro-steps it stands for; else 1 */
    uint32_t first_event;                        /* of the trace; the next stretch's ends it */
    uint64_t begin_bytes, peak_bytes, end_bytes; /* as asked for, each tensor rounded to a block */
    uint64_t late_bytes; /* of a layer's forward: what it made that went behind the last layer, when
                            the phase ended */
    uint64_t input_bytes; /* of the first layer's forward: what came before it and went behind the
                             last layer, before the loss */
    uint64_t sent_bytes;  /* to the host, of saved tensors */
    uint64_t released_bytes; /* freed because it has gone to the host */
    uint64_t returned_bytes; /* allocated for what comes back for another layer */
    double compute_ms;       /* recomputation included */
    double recompute_ms;
    double exposed_ms;               /* waiting for copies and the host */
    double exposed_below_ms;         /* of that, for copies of the layer below */
    double to_host_ms, from_host_ms; /* copies that it begins, hidden or not */
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
    double step_ms; /* compute and exposed, repeats counted */
    double compute_ms, recompute_ms, exposed_ms;
    double copy_ms; /* of both directions, hidden or not */
} ms_step_time;

typedef struct ms_profile {
    ms_vec(ms_profile_span) spans;
    ms_vec(ms_profile_copy) copies; /* of layers, in the order of the step */
    ms_step_time time;
} ms_profile;

/* `kind` decides the size of a block: 512 bytes but for the raw allocator. */
ms_status ms_profile_build(const ms_trace *trace, const ms_device *device, ms_allocator_kind kind,
                           ms_profile *profile, ms_error *err);
void ms_profile_free(ms_profile *profile);

#endif
