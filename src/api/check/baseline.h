/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The state of a baseline file, and whether it may be overwritten.
 */
#ifndef MS_API_CHECK_BASELINE_H
#define MS_API_CHECK_BASELINE_H

#include "base/arena.h"
#include "decide/check/budgets.h"
#include "memscope/inputs.h"

typedef struct ms_baseline_state {
    bool is_there, is_current; /* is_current: the existing file equals `text` */
    ms_error refusal;          /* why it may not be written; MS_OK: it may */
} ms_baseline_state;

/* Refuses a baseline outside of the root of the inputs or, where they have none, of the folder of
 * the budgets file, `path`. Fails only when out of memory. */
ms_status ms_baseline_admit(const ms_budget *budget, const char *path, const ms_inputs *inputs,
                            ms_baseline_state *state, ms_error *err);

/* Checks the baseline file of a budget, and refuses to overwrite a file that is no static report.
 * Fails only when out of memory. */
ms_status ms_baseline_look(ms_arena *arena, const ms_budget *budget, const char *text,
                           size_t length, ms_baseline_state *state, ms_error *err);

/* Refuses baselines that are the same file, and files that were read. */
ms_status ms_baselines_protect(const ms_budget *budgets, uint32_t count, ms_inputs *inputs,
                               ms_baseline_state *states, ms_error *err);

#endif
