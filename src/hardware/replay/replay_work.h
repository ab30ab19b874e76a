/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What a replay gives the device to do: operators on the first stream, copies and updates on
 * others, ordered as the trace says.
 */
#ifndef MS_HARDWARE_REPLAY_REPLAY_WORK_H
#define MS_HARDWARE_REPLAY_REPLAY_WORK_H

#include "hardware/replay/host_copies.h"
#include "hardware/replay/replay.h"

/* Memory of the device that another stream than its own may still use. */
typedef struct ms_replay_flight {
    uint64_t address, bytes;
    uint32_t stream; /* that uses it */
    ms_backend_event *event;
} ms_replay_flight;

/* One for each stream of the trace. */
typedef struct ms_replay_lane {
    ms_backend_stream *stream;
    void *staging; /* pinned; the host's end of copies, or what updates go through */
    uint64_t staging_bytes;
    uint64_t landing, landing_bytes; /* the device's end where a copy has several tensors; of the
                                        first: where operators put what they only read */
} ms_replay_lane;

/* From here on the stream does this. */
typedef struct ms_replay_mark {
    ms_backend_event *event;
    uint32_t phase; /* of the result */
    uint8_t what;   /* ms_op_class, MS_REPLAY_WAITING or MS_REPLAY_BETWEEN */
} ms_replay_mark;

typedef struct ms_replay_span {
    ms_backend_event *begin, *end;
    uint32_t repeats;
    bool is_host; /* an update by the host; else a copy */
} ms_replay_span;

typedef struct ms_replay_clock {
    ms_backend *backend;
    bool measures_link;                /* also when copies run, which takes more calls */
    ms_vec(ms_backend_event *) events; /* all that were opened */
    ms_vec(ms_replay_mark) marks;
    ms_vec(ms_replay_span) spans;
} ms_replay_clock;

typedef struct ms_replay_work {
    ms_backend *backend;
    const ms_trace *trace;
    ms_replay_clock clock;
    ms_replay_result *result;
    uint64_t *addresses;     /* per storage; 0: it has no memory now. Borrowed */
    ms_replay_lane *lanes;   /* per stream of the trace */
    ms_backend_event **ends; /* per work: when it is done; NULL: not begun */
    ms_vec(ms_replay_flight) flights;
    ms_vec(ms_use) uses;        /* recorded, of storages that have memory */
    ms_backend_event *issued;   /* where the operators' stream is when work is given to another */
    bool is_on;                 /* the steady step runs */
    const ms_stop *stop;        /* or NULL */
    ms_host_copies *copies;     /* or NULL: none are kept */
    const ms_replay_feed *feed; /* or NULL */
} ms_replay_work;

/* What the work of a stream needs at a time: of the host; and of the device, where copies of
 * several tensors land, and what operators read. */
typedef struct ms_replay_needs {
    uint64_t staging_bytes, landing_bytes;
} ms_replay_needs;
ms_replay_needs ms_replay_work_needs(const ms_trace *trace, const ms_host_copies *copies,
                                     uint32_t stream);

/* Opens a stream for each of the trace, with the buffers that its work needs, and warms the
 * products up; call ms_replay_work_close also when it fails. */
ms_status ms_replay_work_open(ms_replay_work *work, ms_error *err);
/* Waits for everything, then gives all back. */
void ms_replay_work_close(ms_replay_work *work);

/* The events of the trace. Before the steady step nothing runs. */
ms_status ms_replay_work_operator(ms_replay_work *work, uint32_t op, uint32_t phase, ms_error *err);
ms_status ms_replay_work_begin(ms_replay_work *work, uint32_t id, uint32_t phase, ms_error *err);
ms_status ms_replay_work_wait(ms_replay_work *work, uint32_t wait, uint32_t phase, ms_error *err);
ms_status ms_replay_work_layer(ms_replay_work *work, uint32_t layer, ms_error *err);
ms_status ms_replay_work_use(ms_replay_work *work, const ms_use *use, ms_error *err);

/* A storage got memory: its stream waits for others that still use it. It is about to lose it:
 * what other streams do with it is remembered. */
ms_status ms_replay_work_allocated(ms_replay_work *work, uint32_t storage, uint64_t bytes,
                                   ms_error *err);
ms_status ms_replay_work_released(ms_replay_work *work, uint32_t storage, ms_error *err);

/* ---- replay clock ---- */

/* Events on the operators' stream that divide its time by phase and by what it does, and pairs of
 * events around the work of other streams. Read when everything is done. */

/* Nothing where the stream does that already. */
ms_status ms_replay_clock_mark(ms_replay_clock *clock, ms_backend_stream *stream, uint32_t phase,
                               uint8_t what, ms_error *err);

/* Sums the times into the result, once every stream is done. The last mark ends the step. */
ms_status ms_replay_clock_read(const ms_replay_clock *clock, ms_replay_result *result,
                               ms_error *err);

#endif
