/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The rule engine: thresholds by mode, largest layers first, one pass. It makes its own estimate;
 * the plan is simulated afterwards.
 */
#ifndef MS_DECIDE_PLAN_SEARCH_RULES_H
#define MS_DECIDE_PLAN_SEARCH_RULES_H

#include "decide/plan/search/step_plan.h"

typedef struct ms_rules_answer {
    ms_assignment assignment; /* in the arena */
    uint64_t estimate_bytes;  /* its own estimate of the device bytes */
    double estimate_overhead;
} ms_rules_answer;

/* `need_bytes`: device bytes with everything kept; `budget_bytes`: device bytes available. */
ms_status ms_rules_choose(ms_arena *arena, const ms_step_task *task, const ms_cost_model *costs,
                          uint64_t need_bytes, uint64_t budget_bytes, ms_rules_answer *answer,
                          ms_error *err);

#endif
