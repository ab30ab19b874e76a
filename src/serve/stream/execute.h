/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Streamed passes on a device: the replay executes them, the feed brings the weights, and what is
 * measured is put beside what the schedule makes of the measured layers and copies.
 */
#ifndef MS_SERVE_STREAM_EXECUTE_H
#define MS_SERVE_STREAM_EXECUTE_H

#include "hardware/replay/replay.h"
#include "run/measure/usage.h"
#include "run/step/inference/inference.h"
#include "serve/stream/clock.h"
#include "serve/stream/weights.h"

typedef struct ms_stream_execution {
    const ms_model_config *model;
    const ms_run_config *run;
    ms_inference_phase phase;
    uint64_t prefetch;
    uint32_t timed_passes;   /* at least 2: the first, and those in the steady state */
    uint32_t checked_passes; /* after them; their times say nothing */
    const ms_stop *stop;     /* or NULL */
} ms_stream_execution;

typedef struct ms_stream_measured {
    uint32_t places, passes;
    ms_usage predicted;      /* by the allocator, of the same trace */
    ms_replay_result result; /* counted on the device */
    bool has_predicted;
    bool is_timed;                 /* the times below are measured */
    ms_stream_pass measured;       /* layers and link as measured in the steady passes */
    ms_stream_times times;         /* measured: of the steady passes */
    ms_stream_times scheduled;     /* what the schedule makes of the measured layers */
    uint64_t pinned_bytes, checks; /* of the feed */
    double fill_ms;                /* that the host took per pass to fill pinned buffers */
} ms_stream_measured;

/* Where a layer's weights come from, once it is known what its places are like. */
typedef struct ms_stream_source {
    void *context;
    ms_status (*open)(void *context, const ms_trace *trace, const ms_stream_pass *pass,
                      ms_stream_weights *weights, ms_error *err);
} ms_stream_source;

/* Memory of the host, filled with bytes that follow from their place. */
ms_stream_source ms_stream_source_memory(void);

/* Files: see ms_stream_weights_open. The context is one of these. */
typedef struct ms_stream_files {
    ms_arena *arena;
    const char *path;
} ms_stream_files;
ms_stream_source ms_stream_source_files(ms_stream_files *files);

/* Runs the passes; `measured` is filled as far as it came, also after a failure: release it with
 * ms_stream_measured_free. Everything that was taken of the backend is given back. MS_ERR_IO: a
 * layer's bytes differ where it computes; others as ms_replay_run. */
ms_status ms_stream_execute(const ms_stream_execution *execution, const ms_stream_source *source,
                            ms_backend *backend, ms_stream_measured *measured, ms_error *err);
void ms_stream_measured_free(ms_stream_measured *measured);

/* ---- feed ---- */

/* The engine's side of a streamed run: gives the replay the weights of each layer in pinned memory,
 * takes the times of copies and layers, and checks that what a layer computes with is what the host
 * has. */

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
