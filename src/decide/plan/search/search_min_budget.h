/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Finding the smallest budget that has a plan.
 */
#ifndef MS_DECIDE_PLAN_SEARCH_SEARCH_MIN_BUDGET_H
#define MS_DECIDE_PLAN_SEARCH_SEARCH_MIN_BUDGET_H

#include "decide/plan/search/search.h"

/* Tries the assignments with the lowest peaks, if better ones failed because of the allocator. */
ms_status ms_search_lowest(ms_search *s);
/* Simulates the plan with the smallest budget into s->plan->plan, and checks whether it fits after
 * all. */
ms_status ms_search_min_budget(ms_search *s);
/* The same among these assignments, `stride` bytes apart. */
ms_status ms_search_min_budget_of(ms_search *s, const ms_assignment *assignments, size_t stride,
                                  uint32_t count);
/* The smallest budget under which these treatments run, between the live bytes and what the
 * allocator reserves without a limit. */
ms_status ms_search_smallest_budget(ms_search *s, const ms_treatments *treatments,
                                    uint64_t live_bytes, uint64_t *budget);

#endif
