/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A model whose layers' weights stream from the host, for several numbers of layers ahead: memory
 * of the device and the host, and times.
 */
#ifndef MS_SERVE_STREAM_TABLE_H
#define MS_SERVE_STREAM_TABLE_H

#include "input/config/run/run_config.h"
#include "run/simulate/judge.h"
#include "run/step/inference/inference.h"
#include "serve/stream/clock.h"
#include "serve/stream/prefetch.h"

typedef struct ms_model_config ms_model_config;

typedef struct ms_stream_row {
    uint64_t prefetch; /* clamped */
    uint32_t places;   /* for layers on the device: 1 + prefetch */
    bool stays;        /* a place for every layer: none is evicted, and later passes copy nothing */
    /* At the peak of the pass, in the allocator's blocks; sums to peak_bytes. */
    uint64_t places_bytes, outside_bytes, cache_bytes, other_bytes;
    uint64_t peak_bytes, reserved_bytes;
    ms_judgement judgement;
    ms_stream_times times;
    double tokens_per_s;   /* at most: of a pass in the time of a steady one; 0: no times */
    uint64_t pinned_bytes; /* of the host */
} ms_stream_row;

typedef struct ms_stream_table {
    ms_inference_phase phase;
    uint64_t tokens; /* that a pass takes in, or yields */
    uint64_t param_count, cache_bytes;
    ms_stream_pass pass;
    ms_stream_enough enough;    /* with times only */
    uint64_t most_asked;        /* the largest number that was asked for */
    ms_vec(ms_stream_row) rows; /* by prefetch, each once */
} ms_stream_table;

/* MS_ERR_CONFIG: a device without a link to the host, or a model that cannot stream. Free it with
 * ms_stream_table_free; on failure nothing is left to free. */
ms_status ms_stream_table_build(const ms_model_config *model, const ms_run_config *run,
                                ms_inference_phase phase, const ms_stream_prefetches *prefetches,
                                ms_stream_table *table, ms_error *err);
void ms_stream_table_free(ms_stream_table *table);

/* "prefill", "decode", by ms_inference_phase; NULL past the last. */
const char *ms_stream_phase_at(size_t index);

/* Whether any row fits. */
bool ms_stream_table_fits(const ms_stream_table *table);

#endif
