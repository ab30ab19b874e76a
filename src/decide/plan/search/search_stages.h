/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Beginning a search, and writing its result to the plan.
 */
#ifndef MS_DECIDE_PLAN_SEARCH_SEARCH_STAGES_H
#define MS_DECIDE_PLAN_SEARCH_SEARCH_STAGES_H

#include "decide/plan/search/search.h"

/* ---- search min budget ---- */

/* Finding the smallest budget that has a plan. */

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

/* ---- search heuristics ---- */

/* Simple assignments, tried in addition to the search's: all layers alike, all layers
 * checkpointed. */

/* If the best is slower than the bound because of the allocator: tries the heuristics, more of them
 * the larger the distance. */
ms_status ms_search_restart(ms_search *s, double bound_ms);

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

/* ---- search whole ---- */

/* The search for the fastest plan that fits, in all of its stages. */

/* Sets the search's best, where anything fits; else the least budget that was found. *first: the
 * first choice, with the bound. */
ms_status ms_search_whole(ms_search *s, ms_chosen *first);

#endif
