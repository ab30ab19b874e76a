/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Reports of `memscope fit`: console text, and JSON (schemas/fit.schema.json).
 */
#ifndef MS_REPORT_OTHERS_FIT_REPORT_H
#define MS_REPORT_OTHERS_FIT_REPORT_H

#include "decide/fit/fit.h"
#include "report/kit/page.h"

typedef struct ms_fit_view {
    const ms_model_config *model;
    const ms_run_config *run;
    const ms_fit_answer *answer;
    const ms_style *style;
} ms_fit_view;

/* Of the answer, with what the run's files leave out of the figures. */
ms_fit_verdict ms_fit_answer_verdict(const ms_fit_view *view);

/* The first line: "qwen3-8b: largest batch, sequences per micro-batch". NULL when out of memory. In
 * the arena. */
const char *ms_fit_title(ms_arena *arena, const ms_fit_what *what, const ms_model_config *model,
                         const ms_run_config *run);

#endif
