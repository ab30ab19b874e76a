/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The engine's side of a streamed run: gives the replay the weights of each layer in pinned memory,
 * takes the times of copies and layers, and checks that what a layer computes with is what the host
 * has.
 */
#ifndef MS_SERVE_STREAM_FEED_H
#define MS_SERVE_STREAM_FEED_H

#include "hardware/replay/replay.h"
#include "serve/stream/weights.h"

/* A buffer of pinned memory, as large as a place. */
typedef struct ms_stream_buffer {
    void *memory;
    ms_backend_event *copied; /* the latest copy from it; NULL: none. Not its own */
} ms_stream_buffer;

/* Events of a layer in a pass: when it may begin, when its weights are there, when it is done. */
typedef struct ms_stream_use {
    ms_backend_event *ready, *begin, *end;
} ms_stream_use;

typedef struct ms_stream_fetch {
    ms_backend_event *begin, *end;
} ms_stream_fetch;

/* The first members are the caller's. */
typedef struct ms_stream_feed {
    ms_backend *backend;
    const ms_stream_pass *pass;
    ms_stream_weights *weights; /* NULL: nothing runs on the device, so any bytes will do */
    uint32_t buffer_count;
    uint64_t first_checked; /* uses from this one on are checked, over all passes */
    const ms_stop *stop;    /* once it is set, bytes need not have come; or NULL */
    ms_vec(ms_stream_buffer) buffers;
    ms_vec(ms_backend_event *) events; /* all that were opened */
    ms_vec(ms_stream_fetch) fetches;
    ms_vec(ms_stream_use) uses;
    bool is_in_use;   /* a layer runs */
    uint64_t address; /* of its place */
    void *check;      /* pinned, where checked layers come back to */
    ms_backend_event *checked;
    uint64_t pinned_bytes; /* at most, without what checks take */
    uint64_t checks;       /* that were made */
    double fill_ms;        /* what the host took to fill buffers */
} ms_stream_feed;

/* The feed as the replay takes it. */
ms_replay_feed ms_stream_feed_calls(ms_stream_feed *feed);

/* Waits for the device and gives back all that was taken; may be called again. */
void ms_stream_feed_close(ms_stream_feed *feed);

#endif
