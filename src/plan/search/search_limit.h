/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The capacity that follows from a budget.
 */
#ifndef MS_PLAN_SEARCH_SEARCH_LIMIT_H
#define MS_PLAN_SEARCH_SEARCH_LIMIT_H

#include "plan/search/search.h"

/* Updates the capacity after the budget of the search's run has changed. */
void ms_search_set_capacity(ms_search *s);

#endif
