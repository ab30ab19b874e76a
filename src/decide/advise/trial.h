/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Combinations that are simulated, each once.
 */
#ifndef MS_DECIDE_ADVISE_TRIAL_H
#define MS_DECIDE_ADVISE_TRIAL_H

#include "base/vec.h"
#include "decide/advise/candidate.h"
#include "decide/advise/combination.h"
#include "input/config/run/run_config.h"
#include "run/simulate/change.h"

/* ---- larger device ---- */

/* What a run may move to. */
typedef struct ms_other_devices {
    const ms_device *items; /* all of the table, in the arena */
    uint32_t count;         /* 0: the run has a budget or a calibration of its own device */
} ms_other_devices;

ms_status ms_other_devices_load(ms_arena *arena, const ms_run_config *run, ms_other_devices *others,
                                ms_error *err);

/* The smallest of the same maker with more memory than the run's and no less than `needed_bytes`;
 * NULL: there is none. */
const ms_device *ms_larger_device(const ms_other_devices *others, const ms_run_config *run,
                                  uint64_t needed_bytes);

typedef struct ms_effect {
    bool is_beyond;        /* it reserves more than the job's limit; nothing else is known */
    uint64_t device_bytes; /* expected */
    uint64_t peak_bytes;   /* allocated */
    uint64_t host_bytes;
    ms_fit_reason reason;
    ms_fit_reason told; /* the same, with what the run's files leave out of the figures */
    double step_ms;     /* 0: unknown */
} ms_effect;

typedef struct ms_trial {
    ms_candidate_set set;
    bool is_refused;     /* the changes do not go together */
    bool is_estimate;    /* of a few layers, where that shows whether it fits by far or not */
    bool is_provisional; /* an estimate, or of a rank that may not be the one that needs most */
    bool is_certain;     /* provisional, but more than the budget is requested of every allocator */
    bool cannot_fit;     /* by what is requested, it is tight at best */
    bool is_open;        /* an estimate of what cannot fit: whether it is tight isn't known */
    ms_fit_reason reason;
    uint64_t wanted_bytes; /* reserved, by the step that runs out of memory if one does */
    uint64_t least_bytes;  /* requested: no allocator does with less */
    uint64_t kept_bytes;
    bool has_effect; /* it was simulated in full, as the estimate was not clear */
    ms_effect effect;
} ms_trial;

typedef struct ms_trials {
    const ms_job *job;       /* its run has a draft */
    ms_kept kept;            /* of the unchanged run; 0: it isn't known */
    ms_other_devices others; /* none while nothing asks for another device */
    ms_vec(ms_trial) known;
    bool is_exact; /* nothing is provisional, and what is does not count unless it is certain */
    bool is_whole; /* what is certain does not count either */
    bool asks_fit; /* it is all the same whether what does not fit is tight */
    ms_error *err;
} ms_trials;

void ms_trials_free(ms_trials *trials);

/* Simulates those that are not known, side by side. MS_ERR_NOMEM, MS_ERR_STOPPED or what a
 * simulation fails with. */
ms_status ms_trials_run(ms_trials *trials, const ms_candidate_set *sets, uint32_t count);
/* Whether a known trial is as good as asked for. */
bool ms_trials_count(const ms_trials *trials, const ms_trial *trial);
/* A trial that was run, or NULL. */
const ms_trial *ms_trials_find(const ms_trials *trials, ms_candidate_set set);
/* Whether one was run that is open. */
bool ms_trials_is_open(const ms_trials *trials, ms_candidate_set set);
/* Runs one, unless it is known. */
ms_status ms_trials_one(ms_trials *trials, ms_candidate_set set, ms_trial *trial);

/* Replaces a trial by the one that needs least in full, of the certain ones that cost as much and
 * request nearly as little. */
ms_status ms_trials_refine(ms_trials *trials, ms_trial *least);

/* Whether the changes go together, by the rules of a run; simulates nothing. */
ms_status ms_trials_resolve(const ms_trials *trials, ms_candidate_set set, bool *is_refused);

/* Those of some candidates that apply to the job and are not refused. */
ms_status ms_trials_candidates(const ms_trials *trials, ms_candidate_set among,
                               ms_candidate_set *applicable);

/* ---- effect ---- */

/* What a change comes to: the figures of a suggestion. */

ms_status ms_effect_simulate(const ms_job *job, bool is_timed, ms_effect *effect, ms_error *err);

/* The unchanged run, where its events are known. */
typedef struct ms_unchanged {
    const ms_simulated *simulated; /* all steps and their time; NULL: it isn't known */
    const ms_variants *variants;   /* that were measured, or NULL */
} ms_unchanged;

/* A run that differs from it in its allocator alone has the same events. */
bool ms_unchanged_has(const ms_unchanged *unchanged, const ms_run_config *run);
ms_status ms_unchanged_play(const ms_unchanged *unchanged, const ms_run_config *run,
                            ms_effect *effect, ms_error *err);

#endif
