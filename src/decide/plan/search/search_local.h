/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The end of a search: small changes of the best assignment, each one that counts as faster run
 * under the allocator, whose waste no sum knows.
 */
#ifndef MS_DECIDE_PLAN_SEARCH_SEARCH_LOCAL_H
#define MS_DECIDE_PLAN_SEARCH_SEARCH_LOCAL_H

#include "decide/plan/search/search.h"

/* Replaces an option, swaps two layers, gives two layers or a range of them other options, makes
 * the loss otherwise; where none of that helps, goes on from the best with some layers saving
 * least. Does nothing where the best is as good as the bound; simulations are bounded by the
 * distance from it, and the same in each run. */
ms_status ms_search_local(ms_search *s, double bound_ms);

/* Where nothing fits so far: the same around s->best, which needs the smallest budget found, until
 * a change of it fits. An allocator may refuse what is all alike and take what is not. */
ms_status ms_search_rescue(ms_search *s);

#endif
