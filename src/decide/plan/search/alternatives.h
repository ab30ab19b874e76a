/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Alternatives to a plan: other planners at the same budget; changes of the run, when nothing fits;
 * another allocator; a little more budget.
 */
#ifndef MS_DECIDE_PLAN_SEARCH_ALTERNATIVES_H
#define MS_DECIDE_PLAN_SEARCH_ALTERNATIVES_H

#include "decide/plan/search/search.h"

/* Fills plan->compared with the plans of the other planners, simulated. A faster one becomes the
 * plan. */
ms_status ms_compare_planners(ms_search *search);

/* Fills plan->suggestions, when nothing fits, with changes of the run that do, in the order of
 * ms_advise. What the run says of its layers is not in them, as the plan decides that. */
ms_status ms_suggest_changes(const ms_search *search);
/* If the plan is far from the bound: suggests expandable segments at the same budget, if faster. */
ms_status ms_suggest_allocator(ms_search *search);
/* Fills plan->needs with a little more budget that makes the step much faster, and with a step that
 * was found for it, if there is one. */
ms_status ms_find_steep_end(ms_search *search);

/* Fills time and peak of the free plan, to show what the restriction to a trainer costs. */
ms_status ms_price_target(const ms_search *search);

/* ---- rules ---- */

/* The rule engine: thresholds by mode, largest layers first, one pass. It makes its own estimate;
 * the plan is simulated afterwards. */

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
