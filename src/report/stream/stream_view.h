/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What the reports of `memscope stream` are written from, and the sentences that they share.
 */
#ifndef MS_REPORT_STREAM_STREAM_VIEW_H
#define MS_REPORT_STREAM_STREAM_VIEW_H

#include "base/arena.h"
#include "report/kit/page.h"
#include "serve/stream/execute.h"
#include "serve/stream/table.h"

/* What was executed; the rows are those of the table, as far as it came. */
typedef struct ms_stream_run_view {
    const ms_backend_facts *facts;
    const char *backend, *weights; /* "cuda"; a path, or NULL: memory */
    ms_status status;
    const char *message; /* of a failure */
    uint32_t timed_passes, checked_passes;
    const ms_stream_measured *rows;
    uint32_t count;
} ms_stream_run_view;

typedef struct ms_stream_view {
    const ms_model_config *model;
    const ms_run_config *run;
    const ms_stream_table *table;
    const ms_stream_run_view *ran; /* or NULL */
    ms_arena *arena;
    const ms_style *style;
} ms_stream_view;

/* "llama-3.1-8b: 8.03 B parameters, bf16, decode, batch 1 x 4096 tokens"; NULL when out of memory.
 */
const char *ms_stream_title(const ms_stream_view *view);

/* "does not fit: with 1 layer ahead ...", or the most layers ahead that fit: "fits with 4 layers
 * ahead: ..."; "" where no budget is known; NULL when out of memory. Fewer never need more. */
const char *ms_stream_verdict(const ms_stream_view *view);
bool ms_stream_fits(const ms_stream_view *view); /* at least the fewest layers ahead */

/* "the copies are hidden from 3 layers ahead on", or why they are not; NULL when out of memory. */
const char *ms_stream_answer(const ms_stream_view *view);

/* How many layers ahead are enough where the copies are not hidden, else ""; NULL when out of
 * memory. */
const char *ms_stream_advice(const ms_stream_view *view);

#endif
