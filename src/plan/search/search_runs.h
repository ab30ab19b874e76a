/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Two runs of layers: the first ones under one option, the others under another.
 */
#ifndef MS_PLAN_SEARCH_SEARCH_RUNS_H
#define MS_PLAN_SEARCH_SEARCH_RUNS_H

#include "plan/search/search.h"

/* For any two options, the first layers under one and the others under the other, as few under the
 * first as fit: each one that counts as faster than the best so far, until a step takes no more
 * than enough_ms. */
ms_status ms_search_runs(ms_search *s, double enough_ms);

#endif
