/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What the reports of `memscope probe --offload-ratio` are written from: a step for each ratio, as
 * predicted, and as replayed where there is a device.
 */
#ifndef MS_REPORT_RUNTIME_OFFLOAD_VIEW_H
#define MS_REPORT_RUNTIME_OFFLOAD_VIEW_H

#include "base/reason.h"
#include "base/vec.h"
#include "input/config/run/run_config.h"
#include "hardware/replay/backend.h"
#include "report/kit/page.h"

typedef struct ms_offload_figures {
    uint64_t peak_bytes;     /* allocated in the steady step */
    uint64_t reserved_bytes; /* by the allocator, of everything */
    uint64_t host_bytes;     /* of the host's buffers */
    bool has_times;
    double step_ms, exposed_ms, copy_ms; /* exposed: waiting for copies; copy: hidden or exposed */
    double link_busy_ms;                 /* while a copy runs, in either direction */
} ms_offload_figures;

typedef struct ms_offload_row {
    double ratio;                                 /* of tags that have none of their own */
    ms_offload_bytes bytes[MS_MOST_OFFLOAD_TAGS]; /* by tag */
    ms_offload_figures predicted, measured;
    bool has_measured, is_full; /* full: the device had no room for it */
    uint64_t device_bytes;      /* of the process, as expected */
    ms_fit_reason reason;       /* predicted, for the budget of the run */
} ms_offload_row;

typedef ms_vec(ms_offload_row) ms_offload_rows;

typedef struct ms_offload_view {
    const ms_model_config *model;
    const ms_run_config *run;
    const ms_offload_tags *tags;
    const ms_offload_rows *rows; /* by ratio, rising; at least one */
    bool is_swept;               /* the rows differ by ratio; else there is one */
    const ms_backend_facts *facts;
    const char *backend; /* NULL: only predicted */
    bool is_memory_only, is_same_device;
    ms_status status; /* MS_OK: all rows are there */
    const char *message;
    const ms_style *style;
} ms_offload_view;

/* Its name, or its type. */
const char *ms_offload_model(const ms_offload_view *view);

/* Of all tags. */
ms_offload_bytes ms_offload_row_bytes(const ms_offload_view *view, const ms_offload_row *row);
/* The share of the step for which the link is busy; 0 without times. */
double ms_offload_link_use(const ms_offload_figures *figures);

/* The least ratio at which the step fits, or NULL: none, or no budget is known. */
const ms_offload_row *ms_offload_least(const ms_offload_view *view);
/* The least ratio from which on waiting for copies takes more than a hundredth of the step, or
 * NULL. By the predicted times. */
const ms_offload_row *ms_offload_saturated(const ms_offload_view *view);

/* The first line and the sentence about the link. */
enum { MS_OFFLOAD_TEXT = 320 };
const char *ms_offload_decision(const ms_offload_view *view, char text[MS_OFFLOAD_TEXT]);
const char *ms_offload_about_link(const ms_offload_view *view, char text[MS_OFFLOAD_TEXT]);

/* Whether both are there in a row and differ in bytes. */
bool ms_offload_differs(const ms_offload_row *row);

#endif
