/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * One value of what is searched for, simulated and judged.
 */
#ifndef MS_DECIDE_FIT_TRIAL_H
#define MS_DECIDE_FIT_TRIAL_H

#include "decide/fit/answer.h"

/* A search under way. A trial has its own arena, so that many of them need no more than one. */
typedef struct ms_fit_trials {
    const ms_fit_question *question;
    ms_fit_answer *answer;
    ms_error *err;
    uint64_t least_bytes;  /* of the last value that did not fit: see ms_simulated_least_bytes */
    uint64_t kept_bytes;   /* of the last value that did not fit: weights and optimizer states */
    uint64_t refused;      /* the smallest value that did not fit; UINT64_MAX: none */
    uint64_t most_refused; /* the largest value that did not fit; 0: none */
} ms_fit_trials;

/* Makes the variation with that value; "selective:SHARE" treatments are resolved for it. */
ms_status ms_fit_apply(const ms_fit_question *question, uint64_t value, ms_arena *arena,
                       ms_variation *v, ms_error *err);

/* One simulation of the value, of several ranks of the one that needs most. *fits is also set for
 * what is tight; *is_safe only for what is not. */
ms_status ms_fit_judge(ms_fit_trials *trials, uint64_t value, bool *fits, bool *is_safe);
/* Whether so many bytes of tensors fit the device under an allocator that wastes nothing. */
bool ms_fit_could_hold(const ms_fit_trials *trials, uint64_t bytes);
/* The value in full, for the report; texts belong to the arena. */
ms_status ms_fit_look(ms_fit_trials *trials, ms_arena *arena, uint64_t value,
                      ms_step_figures *figures);
/* How many values are tried one by one: of deep models fewer. */
uint32_t ms_fit_most_in_turn(const ms_fit_trials *trials);

#endif
