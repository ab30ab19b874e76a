/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Assignments with two runs of layers: the first layers under one option, the others under another.
 */
#ifndef MS_PLAN_SEARCH_SEARCH_RUNS_H
#define MS_PLAN_SEARCH_SEARCH_RUNS_H

#include "plan/search/search.h"

/* For each pair of options, tries the smallest number of layers under the first option that fits,
 * if faster than the best so far by the cost model, until a step takes no more than enough_ms. */
ms_status ms_search_runs(ms_search *s, double enough_ms);

#endif
