/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Replay: executes a trace on a backend. The allocator that the simulation uses takes its memory
 * from the device; in the steady step, copies run on their streams, operators with known shapes as
 * matrix products, and all others as memory traffic of their bytes. What is counted here is counted
 * anew, from blocks and segments, and not taken from the simulation.
 */
#ifndef MS_HARDWARE_REPLAY_REPLAY_H
#define MS_HARDWARE_REPLAY_REPLAY_H

#include "base/deadline.h"
#include "base/error.h"
#include "core/allocator/allocator.h"
#include "core/device/device.h"
#include "core/trace/trace.h"
#include "hardware/replay/backend.h"

/* ---- replay check ---- */

/* Whether a trace of a file can be replayed. */

/* MS_ERR_CONFIG, with one sentence: it lacks the streams that every trace has, or a step, or
 * has too many streams. ms_trace_read accepts such traces; ms_replay_run expects none. */
ms_status ms_replay_check(const ms_trace *trace, ms_error *err);

/* Who has the data of copies to the device, which are otherwise of any bytes. Calls come while the
 * trace's last step is given to the device; a failure ends the replay. */
typedef struct ms_replay_feed {
    void *context;
    /* The memory of the host that holds the bytes of this work, until its copy is done. They go to
     * that address of the device, which nothing uses that comes later on the operators' stream. */
    ms_status (*give)(void *context, uint32_t work, uint64_t address, const void **memory,
                      ms_error *err);
    /* The copy is given to its stream now; it has been. */
    ms_status (*begin)(void *context, uint32_t work, ms_backend_stream *copies, ms_error *err);
    ms_status (*end)(void *context, uint32_t work, ms_backend_stream *copies, ms_error *err);
    /* The operators' stream waits for the work from here on. */
    ms_status (*took)(void *context, uint32_t work, uint64_t address, ms_backend_stream *operators,
                      ms_error *err);
    /* MS_EVENT_LAYER: this layer begins on the operators' stream, or MS_NONE; the last one ends. */
    ms_status (*layer)(void *context, uint32_t layer, ms_backend_stream *operators, ms_error *err);
} ms_replay_feed;

typedef struct ms_replay_options {
    ms_allocator_options allocator; /* as the simulation's; its capacity is a limit of its own */
    bool is_memory_only;            /* allocates and releases, executes nothing */
    bool keeps_host_copies;         /* holds what is offloaded, see host_copies.h; else copies go
                                       through a buffer for each stream */
    const ms_stop *stop;            /* ends it with MS_ERR_STOPPED; or NULL */
    const ms_replay_feed *feed;     /* or NULL */
} ms_replay_options;

typedef struct ms_replay_phase {
    uint8_t phase; /* ms_phase */
    uint16_t step; /* 1 = first step; the last one is the steady step */
    uint32_t micro_step, repeats;
    uint64_t start_bytes, peak_bytes, end_bytes;        /* in blocks handed out */
    uint64_t peak_requested_bytes, end_requested_bytes; /* before rounding */
    uint64_t peak_reserved_bytes, end_reserved_bytes;
    uint32_t peak_event;
    double ms; /* of the device, for all that it represents; steady step only */
} ms_replay_phase;

/* Times of the operators' stream in the steady step: in operators by class, and waiting. */
enum { MS_REPLAY_WAITING = MS_OP_CLASSES, MS_REPLAY_BETWEEN, MS_REPLAY_TIMES };

typedef struct ms_replay_result {
    ms_vec(ms_replay_phase) phases;
    uint32_t first_steady_phase;
    uint32_t played_events, event_count; /* equal unless it was cut off */
    bool has_steady;                     /* the steady step began */
    uint64_t after_build_bytes, start_bytes;
    uint64_t peak_bytes, peak_reserved_bytes;   /* of the steady step; while it is not reached, of
                                                   what was played */
    uint64_t most_reserved_bytes;               /* of everything played */
    uint64_t category_bytes[MS_CATEGORY_COUNT]; /* at the peak; sums to peak_bytes */
    uint8_t peak_phase;
    uint32_t peak_micro_step, peak_event;
    uint64_t retries;
    /* As the device's driver shows it: before the replay and at most, all programs included. */
    uint64_t before_used_bytes, most_used_bytes;
    uint64_t landing_bytes; /* the replay's own, of both: see replay_work.h */
    bool has_times;
    double step_ms, times_ms[MS_REPLAY_TIMES]; /* sum to step_ms */
    double copy_ms,
        host_ms;         /* of copies; of updates by the host. Hidden: less what is waited for */
    double link_busy_ms; /* while at least one copy between host and device runs */
    uint64_t host_copy_bytes; /* of the buffers that hold what is offloaded, at most */
    uint64_t copied_bytes, traffic_bytes;
    uint64_t product_flops, skipped_flops; /* executed; of operators that ran as traffic alone */
    uint32_t products, copies, operators;
} ms_replay_result;

/* Fills the result as far as it came also when it fails; release it with ms_replay_free. Everything
 * that it took of the backend is given back. MS_ERR_OVER_BUDGET: the device is full;
 * MS_ERR_STOPPED: `stop` was set; others as the backend's calls. */
ms_status ms_replay_run(ms_backend *backend, const ms_trace *trace,
                        const ms_replay_options *options, ms_replay_result *result, ms_error *err);
void ms_replay_free(ms_replay_result *result);

/* Memory of the device that executing the trace takes for itself. */
uint64_t ms_replay_own_bytes(const ms_trace *trace);
/* The run's allocator on this device: with what the device has left, less `own_bytes` of the
 * replay's. */
ms_allocator_options ms_replay_allocator(const ms_allocator_options *run,
                                         const ms_backend_facts *facts, uint64_t own_bytes);

#endif
