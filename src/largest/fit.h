/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The largest batch, sequence, adapter rank or depth with which a step fits, found by running it.
 */
#ifndef MS_LARGEST_FIT_H
#define MS_LARGEST_FIT_H

#include "plan/search/step_plan.h"
#include "simulate/variation.h"

/* What can be made larger. */
typedef struct ms_fit_what {
    const char *name; /* "batch": the value of --what */
    const char *unit; /* "sequences per micro-batch" */
    uint64_t step;    /* values tried are its multiples */
    uint64_t most;    /* that is tried */
} ms_fit_what;

/* NULL past the last. */
const ms_fit_what *ms_fit_what_at(size_t index);
/* Refuses an unknown name with the nearest. */
ms_status ms_fit_what_find(const char *name, const ms_fit_what **what, ms_error *err);

typedef enum ms_fit_end {
    MS_FIT_MEMORY,    /* the next value does not fit */
    MS_FIT_POSITIONS, /* the model has learned no more positions */
    MS_FIT_MOST       /* nothing larger is tried */
} ms_fit_end;
extern const char *const ms_fit_end_names[]; /* by ms_fit_end */

typedef struct ms_fit_answer {
    const ms_fit_what *what;
    uint64_t step;
    uint64_t value;       /* the largest that fits, if only just; 0: none does */
    uint64_t safe_value;  /* the largest that is not tight; 0: there is none */
    uint64_t next;        /* what does not; 0 unless `end` is MS_FIT_MEMORY */
    uint64_t first_gap;   /* the smallest below `value` that was tried and does not fit; 0: none */
    uint64_t searched_to; /* past `value`, the last that was tried */
    bool has_all;         /* all values were tried that may be larger, or safe and larger */
    ms_fit_end end;
    ms_step_figures at_value, at_safe, at_next; /* of those that there are */
    uint32_t simulations;
} ms_fit_answer;

/* Doubles, then halves the gap, then tries the values past it one by one: an allocator may do with
 * more what it cannot do with less. That ends where the tensors alone, without what the allocator
 * wastes, are too much (which they are with more, too), or after a bounded number of values. The
 * largest that is safe is looked for from the largest downwards in the same way. `step` 0: the one
 * of `what`. Texts belong to the arena. */
ms_status ms_fit_search(ms_arena *arena, const ms_model_config *model, const ms_run_config *run,
                        const ms_fit_what *what, uint64_t step, ms_fit_answer *answer,
                        ms_error *err);

/* The same search for the value alone: no figures. */
ms_status ms_fit_find_value(const ms_model_config *model, const ms_run_config *run,
                            const ms_fit_what *what, uint64_t step, ms_fit_answer *answer,
                            ms_error *err);

/* The run, and its model, with that value; shares of operators are chosen for it. */
ms_status ms_fit_apply(const ms_job *job, const ms_fit_what *what, uint64_t value, ms_arena *arena,
                       ms_variation *v, ms_error *err);

#endif
