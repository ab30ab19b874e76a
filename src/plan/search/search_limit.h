/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What a budget leaves for what is allocated.
 */
#ifndef MS_PLAN_SEARCH_SEARCH_LIMIT_H
#define MS_PLAN_SEARCH_SEARCH_LIMIT_H

#include "plan/search/search.h"

/* The budget of the search's run has been set anew: the capacity that follows from it. */
void ms_search_set_capacity(ms_search *s);

#endif
