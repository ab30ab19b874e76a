/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What the reports of `memscope probe` are written from: a step as predicted, or the trace of a
 * file, and as replayed.
 */
#ifndef MS_REPORT_RUNTIME_PROBE_VIEW_H
#define MS_REPORT_RUNTIME_PROBE_VIEW_H

#include "hardware/replay/replay.h"
#include "report/kit/page.h"
#include "run/simulate/simulate.h"
#include "core/trace/trace.h"

typedef struct ms_probe_view {
    const ms_model_config *model;    /* NULL: a trace */
    const ms_simulation *simulation; /* of the model; NULL: a trace */
    const char *trace_file;          /* NULL: a model */
    const ms_trace_facts *trace;     /* of the file */
    const ms_run_config *run;        /* of a trace: only device, allocator and budget */
    const ms_profile *profile;       /* predicted times */
    const ms_usage *predicted;       /* with the memory that this device has */
    const ms_replay_result *result;
    const ms_backend_facts *facts;
    const char *backend;
    ms_status status;    /* of the replay; MS_OK: it is whole */
    const char *message; /* why not; or NULL */
    bool is_memory_only;
    bool is_same_device; /* the predicted times are for the device of the backend */
    const ms_style *style;
} ms_probe_view;

/* A figure that was predicted and measured. */
typedef struct ms_probe_row {
    const char *key, *title; /* "peak_memory_bytes", "allocated" */
    bool is_time;            /* milliseconds; else bytes */
    double predicted, measured;
} ms_probe_row;

enum { MS_PROBE_ROWS = 24 };

/* The figures that there are on both sides, in the order of the report; returns how many. */
uint32_t ms_probe_rows(const ms_probe_view *view, ms_probe_row rows[MS_PROBE_ROWS]);
/* The row that disagrees most, relative to the prediction; NULL when all are equal. */
const ms_probe_row *ms_probe_most(const ms_probe_row *rows, uint32_t count);
/* (measured - predicted) / predicted; 0 when both are 0. */
double ms_probe_difference(const ms_probe_row *row);

/* Whether the time of the step is that of its whole work. */
bool ms_probe_has_step_time(const ms_probe_view *view);

/* The name of the model, or its type; what the trace is of, else its file's name without folders.
 */
const char *ms_probe_title(const ms_probe_view *view);
const char *ms_probe_trace_name(const ms_probe_view *view); /* that name; NULL: a model */

/* "stepped", "out_of_memory", ...: as in a runtime report. */
const char *ms_probe_outcome(const ms_probe_view *view);

#endif
