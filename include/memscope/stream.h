/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Inference with weights that do not fit the device: those of the layers stay on the host, and come
 * to the device a few layers ahead of the one that computes.
 *
 *     ms_error err = {0};
 *     ms_streaming *streaming = ms_streaming_create();
 *     ms_streaming_options options = {.prefetch = "1:8", .phase = "decode"};
 *     if (ms_streaming_simulate(streaming, run, &options, &err) == MS_OK)
 *         ms_streaming_write(streaming, "console", stdout, &err);
 *     ms_streaming_free(streaming);
 */
#ifndef MEMSCOPE_STREAM_H
#define MEMSCOPE_STREAM_H

#include <stdbool.h>

#include "memscope/memscope.h"

#ifdef __cplusplus
extern "C" {
#endif

#define MS_STREAM_SCHEMA_VERSION "1.0"

typedef struct ms_streaming ms_streaming;

typedef struct ms_streaming_options {
    const char *prefetch; /* layers ahead: "2", "1:8", "1,2,4", "1:64:*2"; NULL: "1:8" */
    const char *phase;    /* "prefill" or "decode"; NULL: "decode" */
} ms_streaming_options;

ms_streaming *ms_streaming_create(void); /* NULL when out of memory */
void ms_streaming_free(ms_streaming *streaming);

/* Predicts memory and times for each number of layers ahead; may be called once. Of the run the
 * settings of training (optimizer, treatments, loss) play no part. MS_ERR_CONFIG: the model's
 * layers cannot stream, or it cannot decode; a device that is the host. */
ms_status ms_streaming_simulate(ms_streaming *streaming, const ms_run *run,
                                const ms_streaming_options *options, ms_error *err);

typedef struct ms_streaming_run_options {
    const char *backend;   /* "cuda", or "host": memory and threads of this machine */
    uint32_t device_index; /* of CUDA's devices; 0 with "host" */
    const char *capacity;  /* "4GiB": of the host as a device; NULL: 3/4 of its free memory, or
                              "cuda" */
    const char *weights;   /* a safetensors file, or a folder of them; NULL: memory of the host,
                              filled with bytes that follow from their place */
} ms_streaming_run_options;

/* Executes passes with each number of layers ahead, after ms_streaming_simulate; may be called
 * once. The last pass of each is not timed: there each layer's bytes are compared by digest where
 * it computes. A failure leaves nothing on the device; what ran before it is written as partial.
 * MS_ERR_IO: there is no such device, it fails, or a layer computes with other bytes;
 * MS_ERR_OVER_BUDGET: it is full; MS_ERR_NOMEM: the host is; MS_ERR_CONFIG: the files have other
 * weights than the model; MS_ERR_STOPPED: see ms_streaming_stop. */
ms_status ms_streaming_run(ms_streaming *streaming, const ms_streaming_run_options *options,
                           ms_error *err);

/* Ends a run that is under way; may be called by a signal handler or another thread. */
void ms_streaming_stop(ms_streaming *streaming);

/* Whether a pass was executed, or begun, so that ms_streaming_write has measured figures. */
bool ms_streaming_has_run(const ms_streaming *streaming);

/* Whether it fits the run's budget, or its device, with any of the numbers. */
bool ms_streaming_fits(const ms_streaming *streaming);

/* As ms_analysis_note and ms_analysis_set_style. */
const char *ms_streaming_note(const ms_streaming *streaming, size_t index);
void ms_streaming_set_style(ms_streaming *streaming, const ms_style *style);

/* Writes "console", "json", "md", "html", "csv" or "svg". With measured figures beside the
 * predicted ones, but for "svg", which is a picture of the prediction. */
ms_status ms_streaming_write(const ms_streaming *streaming, const char *format, FILE *out,
                             ms_error *err);
const char *ms_streaming_format_at(size_t index); /* NULL past the last */
/* "prefill", "decode"; NULL past the last. */
const char *ms_streaming_phase_at(size_t index);
/* "cuda", "host"; NULL past the last. */
const char *ms_streaming_backend_at(size_t index);

#ifdef __cplusplus
}
#endif
#endif
