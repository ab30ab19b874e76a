/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The smallest budget that has a plan.
 */
#ifndef MS_PLAN_SEARCH_SEARCH_MIN_BUDGET_H
#define MS_PLAN_SEARCH_SEARCH_MIN_BUDGET_H

#include "plan/search/search.h"

/* Offers the assignments that peak lowest, for where the allocator refused what is better. */
ms_status ms_search_lowest(ms_search *s);
/* The plan that needs the smallest budget, run into s->plan->plan, and whether it fits after all.
 */
ms_status ms_search_min_budget(ms_search *s);
/* The same of these assignments, which lie `stride` bytes apart. */
ms_status ms_search_min_budget_of(ms_search *s, const ms_assignment *assignments, size_t stride,
                                  uint32_t count);
/* The smallest budget under which these treatments run: between what is live, and what the
 * allocator takes when nothing stops it. */
ms_status ms_search_smallest_budget(ms_search *s, const ms_treatments *treatments,
                                    uint64_t live_bytes, uint64_t *budget);

#endif
