/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The search for the fastest plan that fits, in all of its stages.
 */
#ifndef MS_DECIDE_PLAN_SEARCH_SEARCH_WHOLE_H
#define MS_DECIDE_PLAN_SEARCH_SEARCH_WHOLE_H

#include "decide/plan/search/search.h"

/* Sets the search's best, where anything fits; else the least budget that was found. *first: the
 * first choice, with the bound. */
ms_status ms_search_whole(ms_search *s, ms_chosen *first);

#endif
