/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Beginning a search, and writing its result to the plan.
 */
#ifndef MS_DECIDE_PLAN_SEARCH_SEARCH_STAGES_H
#define MS_DECIDE_PLAN_SEARCH_SEARCH_STAGES_H

#include "decide/plan/search/search.h"

/* Updates the capacity after the budget of the search's run has changed; what was proven is
 * forgotten. */
void ms_search_set_capacity(ms_search *s);
/* Sets the limit and simulates the baselines of the plan. */
ms_status ms_search_prepare(ms_search *s, const ms_target *target);
/* Measures the options. */
ms_status ms_search_measure(ms_search *s);
/* Both. */
ms_status ms_search_begin(ms_search *s, const ms_target *target);
/* Begins with everything kept, which is known to fit. */
ms_status ms_search_take_kept(ms_search *s);
/* Simulates the best assignment into s->plan->plan, and sets its gap. */
ms_status ms_search_finish(ms_search *s);
void ms_search_set_gap(ms_search *s, const ms_chosen *first);

#endif
