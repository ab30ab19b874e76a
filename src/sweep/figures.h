/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What a sweep says about a point.
 */
#ifndef MS_SWEEP_FIGURES_H
#define MS_SWEEP_FIGURES_H

#include "memscope/memscope.h"
#include "largest/fit.h"
#include "sweep/grid.h"

/* What is asked about every point. */
typedef struct ms_question {
    const ms_fit_what *what; /* the largest of this that fits; NULL: what the step needs */
    uint64_t step;           /* of its values; 0: the usual one */
} ms_question;

typedef struct ms_figures {
    const char *model;
    /* of the largest that fits; the figures below are of the step with it, if there is one */
    const char *what, *stopped_by;
    uint64_t value, safe_value, next; /* safe: the largest that is not tight */
    ms_summary summary;
    uint64_t tokens; /* of a step, all its micro-batches */
    /* 1/10,000 of the unit, so that text and numbers are the same everywhere; 0: not known */
    uint64_t step_time_ms_e4, tokens_per_s_e4;
} ms_figures;

/* Texts are in the arena or static. The failure of a point is its own: the next may do. */
ms_status ms_figures_find(ms_arena *arena, const ms_point *point, uint32_t input_count,
                          const ms_question *question, ms_figures *figures, ms_error *err);

#endif
