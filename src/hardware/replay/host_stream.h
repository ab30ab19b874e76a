/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Streams and events of the host backend: a thread takes what is enqueued, in order. Each stream
 * has a clock. It is the machine's, or, where no data is moved, counts what the rates make of the
 * work, so that it is exact and nothing sleeps. A stream that has nothing to do does not lag: what
 * it is given begins no earlier than when it was given.
 */
#ifndef MS_HARDWARE_REPLAY_HOST_STREAM_H
#define MS_HARDWARE_REPLAY_HOST_STREAM_H

#include "base/deadline.h"
#include "hardware/replay/blas.h"
#include "hardware/replay/backend.h"

/* One stream's work. Functions run on its thread. */
typedef struct ms_host_work {
    /* NULL: nothing but its time */
    void (*run)(const struct ms_host_work *work, void *tiles);
    double least_ms;            /* what it takes at the rates given */
    ms_backend_traffic traffic; /* or a copy */
    ms_backend_product product;
    const ms_blas *blas;
    const ms_stop *stop; /* filled by the stream */
} ms_host_work;

typedef struct ms_host_streams ms_host_streams;

/* `counts` : the clocks count instead of sleeping. Once `stop` is set, what is enqueued is passed
 * over; NULL: never. Returns NULL when out of memory. */
ms_host_streams *ms_replay_streams_create(bool counts, const ms_stop *stop);
void ms_replay_streams_free(ms_host_streams *streams); /* all are closed */

ms_status ms_replay_stream_open(ms_host_streams *streams, ms_backend_stream **stream,
                                ms_error *err);
void ms_replay_stream_close(ms_host_streams *streams, ms_backend_stream *stream);
ms_backend_event *ms_replay_event_open(void); /* NULL when out of memory */
void ms_replay_event_close(ms_backend_event *event);

/* Waits while the stream's queue is full. */
void ms_replay_stream_add(ms_backend_stream *stream, const ms_host_work *work);
void ms_replay_stream_record(ms_backend_stream *stream, ms_backend_event *event);
void ms_replay_stream_wait(ms_backend_stream *stream, ms_backend_event *event);

/* Until everything enqueued is done; NULL: on all streams. */
void ms_replay_streams_finish(ms_host_streams *streams, ms_backend_stream *stream);

/* Until the latest record of the event has happened. */
void ms_replay_event_finish(ms_host_streams *streams, const ms_backend_event *event);

/* False when one of them has not happened. */
bool ms_replay_event_elapsed(ms_host_streams *streams, const ms_backend_event *begin,
                             const ms_backend_event *end, double *ms);

#endif
