/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What a change comes to: the figures of a suggestion.
 */
#ifndef MS_DECIDE_ADVISE_EFFECT_H
#define MS_DECIDE_ADVISE_EFFECT_H

#include "run/simulate/change.h"

typedef struct ms_effect {
    bool is_beyond;        /* it reserves more than the job's limit; nothing else is known */
    uint64_t device_bytes; /* expected */
    uint64_t peak_bytes;   /* allocated */
    uint64_t host_bytes;
    ms_fit_reason reason;
    ms_fit_reason told; /* the same, with what the run's files leave out of the figures */
    double step_ms;     /* 0: unknown */
} ms_effect;

/* Of a simulation with MS_SIMULATE_TIME, or with less detail, whose time is unknown. */
ms_effect ms_effect_of(const ms_simulated *simulated);

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
