/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Where else the local search starts: the best with a part of it treated anew, all layers alike.
 */
#ifndef MS_DECIDE_PLAN_SEARCH_STARTS_H
#define MS_DECIDE_PLAN_SEARCH_STARTS_H

#include "decide/plan/search/moves.h"

/* All layers with one option. */
typedef struct ms_start {
    uint32_t option, loss;
    double score;
} ms_start;

/* Goes to the best with a quarter of the layers, at random, saving least. */
ms_status ms_moves_kick(ms_moves *l);
/* Lists, in the arena, those that the cost model says fit and are not far slower than the best;
 * fast ones that need little first. */
ms_status ms_moves_list_starts(ms_moves *l, ms_start **starts, uint32_t *count);
/* *made: that assignment, in the arena. */
ms_status ms_moves_start(const ms_moves *l, const ms_start *from, ms_assignment *made);

#endif
