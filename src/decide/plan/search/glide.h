/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * From an assignment that is far slower than the best, the local search goes on by the cost model
 * alone, and simulates when it is near the best: that spares most simulations.
 */
#ifndef MS_DECIDE_PLAN_SEARCH_GLIDE_H
#define MS_DECIDE_PLAN_SEARCH_GLIDE_H

#include "decide/plan/search/moves.h"

/* Goes from where the moves are to an assignment about as fast as the search's best, or on that
 * way to the last that was found to fit. *yes: there is one. *runs grows by the simulations. */
ms_status ms_moves_glide(ms_moves *l, uint32_t *runs, bool *yes);

#endif
