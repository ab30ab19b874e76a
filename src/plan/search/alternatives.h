/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What a plan is set beside: other planners at the same budget, and when nothing fits, the same
 * model run otherwise.
 */
#ifndef MS_PLAN_SEARCH_ALTERNATIVES_H
#define MS_PLAN_SEARCH_ALTERNATIVES_H

#include "plan/search/search.h"

/* Fills plan->compared with what the other planners find; each is simulated. Should one be faster,
 * it becomes the plan. */
ms_status ms_compare_planners(ms_search *search);

/* Fills plan->suggestions with the changes of the run that would fit, fastest first. */
ms_status ms_suggest_changes(const ms_search *search);
/* Where the plan is far from the bound: what expandable segments would do with the same budget, if
 * that is faster. */
ms_status ms_suggest_allocator(ms_search *search);

/* Fills the price of a trainer's plans: what the free plan takes and needs. */
ms_status ms_price_target(const ms_search *search);

#endif
