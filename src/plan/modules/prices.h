/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Plans by prices: a freed byte earns so much, the more the earlier it is needed, and every module
 * does what pays. That takes no search, and no plan at all is cheaper than what the prices prove.
 */
#ifndef MS_PLAN_MODULES_PRICES_H
#define MS_PLAN_MODULES_PRICES_H

#include "base/limit.h"
#include "plan/modules/candidates.h"

typedef struct ms_prices {
    double bound_ms;
    uint32_t *parts; /* by module: a plan, over the budget here and there; or NULL: no time */
    bool *is_tight;  /* by row: it decides a price */
} ms_prices;

/* Lives in the arena. Ends early, with a lower bound, when the limit is reached. */
ms_status ms_prices_find(ms_arena *arena, const ms_candidates *candidates, const ms_limit *limit,
                         ms_prices *prices);

#endif
