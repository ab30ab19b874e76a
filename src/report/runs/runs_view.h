/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A table of runs: one run on many devices, or the points of a sweep, with the same question asked
 * of each.
 */
#ifndef MS_REPORT_RUNS_RUNS_VIEW_H
#define MS_REPORT_RUNS_RUNS_VIEW_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "memscope/memscope.h"

typedef enum ms_runs_question { MS_RUNS_ANALYZE, MS_RUNS_FIT, MS_RUNS_PLAN } ms_runs_question;

typedef struct ms_runs_row {
    const char *const *values; /* of the fields that differ from row to row */
    const char *error;         /* why there are no figures; NULL: there are */
    const char *verdict;       /* "fits", "tight", "unknown", "no" */
    const char *verdict_reason;
    bool has_step; /* false: no value was tried, so there is no step to have figures of */
    /* Expected on the device; of a plan that was not found, the smallest budget with one; where no
     * value fits, with the last tried, `next`. */
    uint64_t needed_bytes;
    uint64_t budget_bytes;                              /* 0: unknown */
    double step_ms, tokens_per_s, tokens_per_s_per_gpu; /* 0: not known */
    double usd_per_hour, usd_per_million_tokens;        /* 0: not known */
    uint64_t value, safe_value, next;                   /* with MS_RUNS_FIT; 0: none */
    const char *stopped_by;
    const char *treat;  /* with MS_RUNS_PLAN; "": everything is kept */
    double keep_all_ms; /* the step that keeps everything */
} ms_runs_row;

typedef struct ms_runs_view {
    ms_runs_question question;
    const char *model; /* of all runs; NULL: they differ */
    const char *title; /* what all have in common */
    const char *what;  /* with MS_RUNS_FIT: "batch" */
    bool is_fewest;    /* of that the fewest is looked for */
    bool of_devices;   /* the rows are one run on several devices, those that fit first */
    const char *const *fields;
    uint32_t field_count;
    const ms_runs_row *rows;
    uint32_t count;
    const ms_style *style;
    ms_arena *arena; /* for texts */
} ms_runs_view;

/* The first sentence: "fits on 11 of 27 devices; the smallest is a100-80gb". NULL: no memory. */
const char *ms_runs_decision(const ms_runs_view *view);

/* The columns behind the fields. NULL: no memory. */
uint32_t ms_runs_columns(const ms_runs_view *view);
const char *ms_runs_head(const ms_runs_view *view, uint32_t column);
const char *ms_runs_cell(const ms_runs_view *view, const ms_runs_row *row, uint32_t column);
bool ms_runs_is_figure(const ms_runs_view *view, uint32_t column);
/* Whether a narrow page may do without the column. */
bool ms_runs_may_go(const ms_runs_view *view, uint32_t column);

/* The notes below the table: why rows have no figures, or do not fit though their figures do; each
 * reason once. NULL past the last, or when out of memory. */
const char *ms_runs_note(const ms_runs_view *view, uint32_t index);

#endif
