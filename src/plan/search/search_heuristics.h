/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Simple assignments, offered beside the search's: every layer alike, every layer checkpointed.
 */
#ifndef MS_PLAN_SEARCH_SEARCH_HEURISTICS_H
#define MS_PLAN_SEARCH_SEARCH_HEURISTICS_H

#include "plan/search/search.h"

/* Checkpoints of one kind in every layer, the first that fits, when nothing has so far. */
ms_status ms_search_any_checkpoints(ms_search *s);
/* Every layer checkpointed, when that fits and counts as faster than the best so far. */
ms_status ms_search_checkpoints(ms_search *s);
/* The same of this and of what the simpler ways find. */
ms_status ms_search_simpler(ms_search *s);
/* Where the allocator made what was found so far slower than the bound: what simpler ways find, and
 * the further from it, the more. */
ms_status ms_search_restart(ms_search *s, double bound_ms);

#endif
