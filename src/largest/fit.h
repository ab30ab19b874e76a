/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Finds the largest batch, sequence length, adapter rank or number of layers with which a step
 * fits, by simulation.
 */
#ifndef MS_LARGEST_FIT_H
#define MS_LARGEST_FIT_H

#include "plan/search/step_plan.h"
#include "simulate/variation.h"

/* A quantity that can be maximised. */
typedef struct ms_fit_what {
    const char *name; /* "batch": the value of --what */
    const char *unit; /* "sequences per micro-batch" */
    uint64_t step;    /* values are multiples of it */
    uint64_t most;    /* largest value tried */
} ms_fit_what;

/* NULL past the last. */
const ms_fit_what *ms_fit_what_at(size_t index);
/* Refuses an unknown name, suggesting the nearest one. */
ms_status ms_fit_what_find(const char *name, const ms_fit_what **what, ms_error *err);

typedef enum ms_fit_end {
    MS_FIT_MEMORY,    /* the next value does not fit */
    MS_FIT_POSITIONS, /* limited by the model's learned positions */
    MS_FIT_MOST       /* the largest value tried */
} ms_fit_end;
extern const char *const ms_fit_end_names[]; /* by ms_fit_end */

typedef struct ms_fit_answer {
    const ms_fit_what *what;
    uint64_t step;
    uint64_t value;       /* the largest that fits, tight or not; 0: none */
    uint64_t safe_value;  /* the largest that is not tight; 0: none */
    uint64_t next;        /* the next value, which does not fit; 0 unless `end` is MS_FIT_MEMORY */
    uint64_t first_gap;   /* the smallest tried value below `value` that does not fit; 0: none */
    uint64_t searched_to; /* the last value tried beyond `value` */
    bool has_all;         /* no untried value can be larger, or safe and larger */
    ms_fit_end end;
    ms_step_figures at_value, at_safe, at_next; /* if they exist */
    uint32_t simulations;
} ms_fit_answer;

/* Doubles the value, then bisects, then tries larger values one by one, because a larger value may
 * fit where a smaller one does not (fragmentation). Stops where the tensors alone exceed the
 * memory, as they do for all larger values, or after a bounded number of values. The largest safe
 * value is searched in the same way, from the largest downwards. `step` 0: that of `what`. Texts
 * belong to the arena. */
ms_status ms_fit_search(ms_arena *arena, const ms_model_config *model, const ms_run_config *run,
                        const ms_fit_what *what, uint64_t step, ms_fit_answer *answer,
                        ms_error *err);

/* The same search for the value only, without figures. */
ms_status ms_fit_find_value(const ms_model_config *model, const ms_run_config *run,
                            const ms_fit_what *what, uint64_t step, ms_fit_answer *answer,
                            ms_error *err);

/* Makes the variation with that value; "selective:SHARE" treatments are resolved for it. */
ms_status ms_fit_apply(const ms_job *job, const ms_fit_what *what, uint64_t value, ms_arena *arena,
                       ms_variation *v, ms_error *err);

#endif
