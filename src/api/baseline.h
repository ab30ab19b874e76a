/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What is where a baseline goes, and whether it may be written over.
 */
#ifndef MS_API_BASELINE_H
#define MS_API_BASELINE_H

#include "base/arena.h"
#include "gate/budgets.h"
#include "memscope/inputs.h"

typedef struct ms_baseline_state {
    bool is_there, is_current; /* current: what is there is `text` */
    ms_error refusal;          /* why nothing may be written there; MS_OK: it may */
} ms_baseline_state;

/* Looks at the baseline that a budget names, and refuses what is no static report. Fails only when
 * memory is short. */
ms_status ms_baseline_look(ms_arena *arena, const ms_budget *budget, const char *text,
                           size_t length, ms_baseline_state *state, ms_error *err);

/* Refuses those that are one file, and files that were read. */
ms_status ms_baselines_protect(const ms_budget *budgets, uint32_t count, ms_inputs *inputs,
                               ms_baseline_state *states, ms_error *err);

#endif
