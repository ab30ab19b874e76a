/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Simulation: a job and a detail in, a result out. The only way to run a step: it decides how many
 * steps are run, plays them through the allocator, runs all three steps where the second does not
 * do what the steady one does, runs the evaluation, and judges whether it all fits.
 */
#ifndef MS_SIMULATE_SIMULATE_H
#define MS_SIMULATE_SIMULATE_H

#include "base/error.h"
#include "config/model/model_config.h"
#include "config/run/run_config.h"
#include "measure/peak.h"
#include "measure/profile.h"
#include "measure/usage.h"
#include "memscope/memscope.h"
#include "simulate/judge.h"
#include "step/step.h"

/* What is simulated. All of it is borrowed. */
typedef struct ms_job {
    const ms_model_config *model;
    const ms_run_config *run;
    const ms_usage *evaluation; /* what the evaluation between steps uses, where that is known
                                   already; NULL: it is simulated when the run has one */
} ms_job;

/* What of it: each costs more time than those before it. Without an evaluation unless it says so.
 */
typedef enum ms_simulate_detail {
    MS_SIMULATE_MODEL,   /* the model is built: parameters and their bytes */
    MS_SIMULATE_EVENTS,  /* what two steps allocate and free; ms_simulate_again measures it as
                            MS_SIMULATE_FIT does */
    MS_SIMULATE_PROFILE, /* two steps: the profile, and the operators of the trace; no usage */
    MS_SIMULATE_FIT,     /* whether it fits, its evaluation included, and what it wants. Of what
                            runs out of memory in the first step the usage is of that step */
    MS_SIMULATE_USAGE,   /* the steady step's figures, if need be on a device without a limit */
    MS_SIMULATE_SUMMARY, /* these, the peak, the profile and the summary; with the evaluation */
    MS_SIMULATE_ALL      /* the same, with operators, blocks and curves to itemise */
} ms_simulate_detail;

typedef struct ms_simulated {
    ms_job job;
    ms_simulate_detail detail;
    bool is_whole;       /* all three steps were run: nothing was played again */
    bool is_lent;        /* the simulation is another's */
    bool has_evaluation; /* of its own */
    ms_simulation simulation;
    ms_usage usage;
    ms_usage own_evaluation; /* its last phase is the evaluation */
    ms_judgement judgement;  /* from MS_SIMULATE_FIT on */
    ms_profile profile;
    ms_peak peak;
    ms_summary summary;
} ms_simulated;

/* What the job points to must outlive the result. On failure nothing is left to free. */
ms_status ms_simulate(const ms_job *job, ms_simulate_detail detail, ms_simulated *result,
                      ms_error *err);
void ms_simulated_free(ms_simulated *simulated);

/* Measures the same events again, for a run that differs from the job's in budget and allocator
 * alone: usage and judgement are of that run then, without its evaluation. After a failure they are
 * empty; the result is to be freed all the same. */
ms_status ms_simulate_again(ms_simulated *simulated, const ms_run_config *run, ms_error *err);
/* The events of a whole simulation, which must outlive it, for ms_simulate_again. */
ms_simulated ms_simulated_lend(const ms_simulated *whole);

/* What the evaluation uses, the job's or its own, or NULL. */
static inline const ms_usage *ms_simulated_evaluation(const ms_simulated *simulated)
{
    return simulated->has_evaluation ? &simulated->own_evaluation : simulated->job.evaluation;
}

/* The most that the allocator took for steps: of those that do not fit, of the step that did not,
 * once it was allowed to. */
uint64_t ms_simulated_wanted_bytes(const ms_simulated *simulated);
/* The most that was asked for at once: no allocator takes less. Of what does not fit in the first
 * step, of that step. */
uint64_t ms_simulated_least_bytes(const ms_simulated *simulated);

#endif
