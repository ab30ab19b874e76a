/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Simulation: takes a job and a level of detail, returns a result. The only way to run a step. It
 * decides how many steps to simulate (all three if the second differs from the steady one), plays
 * them through the allocator, simulates the evaluation, and judges whether the run fits.
 */
#ifndef MS_RUN_SIMULATE_SIMULATE_H
#define MS_RUN_SIMULATE_SIMULATE_H

#include "base/error.h"
#include "input/config/run/run_config.h"
#include "memscope/memscope.h"
#include "run/measure/peak.h"
#include "run/measure/profile.h"
#include "run/measure/usage.h"
#include "run/simulate/judge.h"
#include "run/step/step.h"

typedef struct ms_model_config ms_model_config;

/* What to simulate. All members are borrowed. */
typedef struct ms_job {
    const ms_model_config *model;
    const ms_run_config *run;
    const ms_usage *evaluation; /* usage of the evaluation between steps, if already known; NULL:
                                   simulated if the run has an evaluation */
    uint64_t limit_bytes; /* what reserves more, or gives back what it had reserved so as not to, is
                             not asked for: see ms_simulated_is_beyond; 0: all is */
} ms_job;

/* Whether that limit is below the device's, and the allocator one that keeps to it. */
bool ms_job_has_limit(const ms_job *job);

/* The level of detail; each takes more time than the previous ones. Without the evaluation unless
 * stated. */
typedef enum ms_simulate_detail {
    MS_SIMULATE_MODEL,   /* the model only: parameters and their bytes */
    MS_SIMULATE_EVENTS,  /* allocations and frees of two steps; ms_simulate_again measures them as
                            MS_SIMULATE_FIT does */
    MS_SIMULATE_PROFILE, /* two steps: the profile, and the operators of the trace; no usage */
    MS_SIMULATE_FIT,     /* whether it fits, with the evaluation, and the memory it requests. If the
                            first step runs out of memory, the usage is of that step */
    MS_SIMULATE_USAGE,   /* the steady step's figures, if necessary on a device without a limit */
    MS_SIMULATE_TIME,    /* also the profile, and so the step's time; with the evaluation */
    MS_SIMULATE_SUMMARY, /* also the peak and the summary */
    MS_SIMULATE_ALL      /* also operators, blocks and curves, for the ledger */
} ms_simulate_detail;

typedef struct ms_simulated {
    ms_job job;
    ms_simulate_detail detail;
    bool is_whole;       /* all three steps were simulated; none was replayed */
    bool is_lent;        /* the simulation is owned by another result */
    bool has_evaluation; /* own_evaluation is filled */
    ms_simulation simulation;
    ms_usage usage;
    ms_usage own_evaluation; /* its last phase is the evaluation */
    ms_judgement judgement;  /* with MS_SIMULATE_FIT and above */
    ms_profile profile;
    ms_peak peak;
    ms_summary summary;
} ms_simulated;

/* What the job points to must outlive the result. On failure nothing is left to free. */
ms_status ms_simulate(const ms_job *job, ms_simulate_detail detail, ms_simulated *result,
                      ms_error *err);
void ms_simulated_free(ms_simulated *simulated);

/* Measures the same events for a run that differs from the job's only in budget and allocator;
 * usage and judgement are then those of that run, without its evaluation. After a failure they are
 * empty; the caller must still free the result. */
ms_status ms_simulate_again(ms_simulated *simulated, const ms_run_config *run, ms_error *err);
/* Borrows the events of a result, which must outlive the new one, for ms_simulate_again. */
ms_simulated ms_simulated_lend(const ms_simulated *whole);

/* Whether it reserves more than the job's limit; it has no figures then. */
bool ms_simulated_is_beyond(const ms_simulated *simulated);

/* Usage of the evaluation, from the job or simulated, or NULL. */
static inline const ms_usage *ms_simulated_evaluation(const ms_simulated *simulated)
{
    return simulated->has_evaluation ? &simulated->own_evaluation : simulated->job.evaluation;
}

/* Peak reserved bytes of the steps. If one does not fit: of that step, continued without a limit.
 */
uint64_t ms_simulated_wanted_bytes(const ms_simulated *simulated);
/* Peak requested bytes, a lower bound for any allocator. If the first step does not fit: of that
 * step. */
uint64_t ms_simulated_least_bytes(const ms_simulated *simulated);

/* ---- watch ---- */

/* What calls do for those who watch them (memscope/watch.h). NULL: nobody does. */

/* MS_ERR_STOPPED once the watch was stopped. */
ms_status ms_watch_check(const ms_watch *watch, ms_error *err);
void ms_watch_count(ms_watch *watch);

#endif
