/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Simple assignments, tried in addition to the search's: all layers alike, all layers checkpointed.
 */
#ifndef MS_DECIDE_PLAN_SEARCH_SEARCH_HEURISTICS_H
#define MS_DECIDE_PLAN_SEARCH_SEARCH_HEURISTICS_H

#include "decide/plan/search/search.h"

/* If nothing has fit so far: the first kind of checkpoint that fits when used in all layers. */
ms_status ms_search_any_checkpoints(ms_search *s);
/* All layers checkpointed, if that fits and is faster than the best so far. */
ms_status ms_search_checkpoints(ms_search *s);
/* The same for this assignment and for those of the heuristics. */
ms_status ms_search_simpler(ms_search *s);
/* If the best is slower than the bound because of the allocator: tries the heuristics, more of them
 * the larger the distance. */
ms_status ms_search_restart(ms_search *s, double bound_ms);

#endif
