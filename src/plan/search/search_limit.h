/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What a budget leaves for what is allocated.
 */
#ifndef MS_PLAN_SEARCH_SEARCH_LIMIT_H
#define MS_PLAN_SEARCH_SEARCH_LIMIT_H

#include "plan/search/search.h"

/* Gives the run a budget, and its allocator what the context leaves of it. */
void ms_search_set_budget(ms_run_config *run, uint64_t budget_bytes);
/* The budget of the search's run has been set anew: the limit that follows from it. */
void ms_search_set_limit(ms_search *s);

#endif
