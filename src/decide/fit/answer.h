/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What `memscope fit` can search for, and what a search answers.
 */
#ifndef MS_DECIDE_FIT_ANSWER_H
#define MS_DECIDE_FIT_ANSWER_H

#include "decide/plan/search/step_plan.h"
#include "run/simulate/variation.h"

typedef enum ms_fit_kind {
    MS_FIT_BATCH,
    MS_FIT_SEQ,
    MS_FIT_RANK,
    MS_FIT_LAYERS,
    MS_FIT_GPUS /* the fewest are searched for; of the others the largest */
} ms_fit_kind;

typedef struct ms_fit_what {
    ms_fit_kind kind;
    const char *name; /* "batch": the value of --what */
    const char *unit; /* "sequences per micro-batch" */
    uint64_t step;    /* values are multiples of it */
    uint64_t most;    /* largest value tried */
} ms_fit_what;

/* NULL past the last. */
const ms_fit_what *ms_fit_what_at(size_t index);
/* Refuses an unknown name, suggesting the nearest one. */
ms_status ms_fit_what_find(const char *name, const ms_fit_what **what, ms_error *err);

/* What is asked. All members are borrowed. */
typedef struct ms_fit_question {
    const ms_fit_what *what;
    uint64_t step; /* values are multiples of it; 0: of that of `what` */
    const ms_model_config *model;
    const ms_run_config *run;    /* its own value of `what` is ignored */
    const ms_run_config *shared; /* MS_FIT_GPUS: the same run on several ranks; may be `run` */
} ms_fit_question;

/* Why no value beyond the answer was found. */
typedef enum ms_fit_end {
    MS_FIT_MEMORY,    /* the next value does not fit */
    MS_FIT_POSITIONS, /* limited by the model's learned positions */
    MS_FIT_MOST,      /* the largest value tried */
    MS_FIT_LEAST      /* the smallest number of GPUs that there can be */
} ms_fit_end;
extern const char *const ms_fit_end_names[]; /* by ms_fit_end */

/* The value in mixed precision, or with PEFT's checkpoints: see decide/fit/mixed.h. */
typedef struct ms_fit_mixed {
    const char *options;        /* "--dtype fp32 --autocast bf16"; NULL: it is not asked for */
    uint64_t value, safe_value; /* as of an answer */
} ms_fit_mixed;

typedef struct ms_fit_answer {
    const ms_fit_what *what;
    uint64_t step;
    uint64_t value;       /* the best that fits, tight or not: the largest, or the fewest GPUs; 0:
                             none */
    uint64_t safe_value;  /* the best that is not tight; 0: none */
    uint64_t next;        /* the next better value, which does not fit; with no value the last
                             number of GPUs tried; 0: none was tried */
    uint64_t first_gap;   /* the smallest tried value that does not fit though it is less than
                             `value`, or more GPUs; 0: none */
    uint64_t searched_to; /* the last value tried beyond `value`; of GPUs the fewest tried */
    bool has_all;         /* no untried value can be better, or safe and better */
    ms_fit_end end;
    ms_step_figures at_value, at_safe, at_next; /* if they exist */
    ms_layout layout;                           /* of MS_FIT_GPUS, with any number of them */
    uint32_t simulations;
    ms_fit_mixed mixed, prepared;
} ms_fit_answer;

/* Whether GPUs are counted. */
bool ms_fit_is_of_gpus(const ms_fit_answer *answer);
/* The answer's layout with so many GPUs: one rank, for one. */
ms_layout ms_fit_layout(const ms_fit_answer *answer, uint64_t gpus);

#endif
