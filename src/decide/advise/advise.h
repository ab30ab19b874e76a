/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Suggestions: changes of a run, alone or together, that make it fit or save memory. Every figure
 * is of a simulation of the run with these very options; nothing is added up.
 */
#ifndef MS_DECIDE_ADVISE_ADVISE_H
#define MS_DECIDE_ADVISE_ADVISE_H

#include "decide/advise/search.h"

typedef struct ms_suggestion {
    ms_found found;      /* what ms_suggestion_apply makes */
    const char *title;   /* "checkpoint every layer"; several are joined by " + " */
    const char *option;  /* "--checkpointing all" */
    const char *changes; /* what it changes of the result: "half the tokens"; "": nothing */
    ms_advice_cost cost;
    uint32_t count;             /* of candidates */
    uint64_t device_bytes;      /* expected device bytes with the change */
    int64_t saved_device_bytes; /* reduction of device bytes */
    int64_t saved_peak_bytes;   /* reduction of the allocated peak */
    uint64_t host_bytes;        /* that it keeps on the host */
    ms_fit_reason reason;       /* why it then fits or not, by the figures */
    ms_fit_reason told;         /* the same, with what the run's files leave out of them */
    double step_ms;             /* of a step with the change; 0: unknown */
    double added_time;          /* to a step, as a fraction; NAN: unknown */
} ms_suggestion;

typedef ms_vec(ms_suggestion) ms_suggestions;

/* Beyond these events of a step a simulation takes long: no variants are tried, and few changes. */
enum { MS_QUICK_EVENTS = 500000 };
/* Beyond these a simulation takes so long that none is made. */
enum { MS_MOST_ADVISED_EVENTS = 10 * MS_QUICK_EVENTS };

/* What is advised of. */
typedef struct ms_advised {
    const ms_job *job;         /* a run without a draft has no suggestions */
    const ms_summary *summary; /* of the unchanged run */
    uint32_t events;           /* of its simulation */
    ms_unchanged unchanged;    /* that simulation, if it is there */
} ms_advised;

/* Fills `list`, whose texts are in the arena. For a run that does not fit, or just so: combinations
 * that make it fit; where there are none, those that need least, and the single changes that save
 * most. For one that fits: the latter, of those that leave the training as it is. Those that save
 * less than a hundredth of the device bytes are left out. Of a step with more than MS_QUICK_EVENTS
 * only a few changes are tried, of one with ten times as many none.
 * What fits comes first, then what costs least. */
ms_status ms_advise(const ms_advised *advised, ms_arena *arena, ms_suggestions *list,
                    ms_error *err);

/* The run of a suggestion. */
ms_status ms_suggestion_apply(const ms_job *job, const ms_suggestion *suggestion, ms_arena *arena,
                              ms_variation *v, ms_error *err);

/* Whether it brings the run from `verdict` to a better one. */
bool ms_suggestion_helps(const ms_suggestion *suggestion, ms_fit_verdict verdict);

#endif
