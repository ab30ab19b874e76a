/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Whether a run fits under treatments. What the step allocates and frees is simulated once; each
 * budget that is asked about is one replay of that under the allocator.
 */
#ifndef MS_PLAN_SEARCH_TRIAL_H
#define MS_PLAN_SEARCH_TRIAL_H

#include "measure/usage.h"
#include "memscope/verdict.h"
#include "step/step.h"

typedef struct ms_trial {
    const ms_model_config *model;
    ms_run_config run; /* treated */
    ms_simulation simulation;
    bool is_lean; /* one step, played twice */
} ms_trial;

/* What a trial under a budget came to. */
typedef struct ms_trial_result {
    ms_fit_reason reason;
    uint64_t wanted_bytes; /* the most that the allocator took: if they do not fit, of the step that
                              did not, once it was allowed to */
    uint64_t least_bytes;  /* the most that was asked for at once: no allocator takes less. Of what
                              does not fit in the first step, of that step */
} ms_trial_result;

/* On failure nothing is left to free. */
ms_status ms_trial_begin(const ms_model_config *model, const ms_run_config *run,
                         const ms_treatments *treatments, ms_trial *trial, ms_error *err);
/* Whether it fits under the budget and the allocator of `run`, which differs from the one it began
 * with in nothing else. */
ms_status ms_trial_judge(ms_trial *trial, const ms_run_config *run, ms_trial_result *result,
                         ms_error *err);
void ms_trial_free(ms_trial *trial);

/* What the evaluation of run->eval_batch sequences uses; `usage` is the caller's to free. */
ms_status ms_trial_evaluate(const ms_model_config *model, const ms_run_config *run, ms_usage *usage,
                            ms_error *err);

/* One trial, of the run as it is. Its evaluation counts, but for wanted_bytes, which
 * are the step's. */
ms_status ms_step_plan_judge(const ms_model_config *model, const ms_run_config *run,
                             const ms_treatments *treatments, ms_trial_result *result,
                             ms_error *err);

#endif
