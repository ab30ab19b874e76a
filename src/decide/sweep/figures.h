/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The figures of a point of a sweep.
 */
#ifndef MS_DECIDE_SWEEP_FIGURES_H
#define MS_DECIDE_SWEEP_FIGURES_H

#include "memscope/memscope.h"
#include "decide/fit/fit.h"
#include "decide/sweep/grid.h"

/* What to compute for every point. */
typedef struct ms_question {
    const ms_fit_what *what; /* whose largest (of GPUs fewest) is looked for; NULL: analyze */
    uint64_t step;           /* of its values; 0: the default */
} ms_question;

typedef struct ms_figures {
    const char *model;
    /* With a question's `what`: the best value; the figures below are those of the step with it. */
    const char *what, *stopped_by;
    uint64_t value, safe_value, next; /* safe_value: the largest with verdict "fits" */
    ms_summary summary;
    /* in 1/10,000 of the unit, so that rows are the same on every machine; 0: unknown */
    uint64_t step_time_ms_e4, tokens_per_s_e4, tokens_per_s_per_gpu_e4;
    uint64_t usd_per_hour_e4, usd_per_million_tokens_e4; /* of all ranks; of tokens trained */
} ms_figures;

/* US dollars for an hour of all ranks; 0: the device has no price. */
double ms_figures_usd_per_hour(const ms_run_config *run);
/* US dollars for a million tokens, where all ranks together train so many a second; 0: not known.
 */
double ms_figures_usd(const ms_run_config *run, double tokens_per_s);

/* Texts are in the arena or static. A failure concerns only this point. */
ms_status ms_figures_find(ms_arena *arena, const ms_point *point, uint32_t input_count,
                          const ms_question *question, ms_figures *figures, ms_error *err);

#endif
