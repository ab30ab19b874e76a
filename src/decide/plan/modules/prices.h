/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Plans by dual prices (Lagrangian relaxation): each freed byte earns a price, which is higher the
 * earlier it is needed, and every module discards what pays. This needs no search and yields a
 * lower bound on the cost of any plan.
 */
#ifndef MS_DECIDE_PLAN_MODULES_PRICES_H
#define MS_DECIDE_PLAN_MODULES_PRICES_H

#include "base/deadline.h"
#include "decide/plan/modules/candidates.h"

typedef struct ms_prices {
    double bound_ms;
    uint32_t *parts;     /* by module: a plan, possibly over the budget; NULL: out of time */
    const double *price; /* by candidate: of a MiB, never rising; it falls only at rows */
} ms_prices;

/* Allocates in the arena. Ends early, with a lower bound that is smaller, when the limit is
 * reached. */
ms_status ms_prices_find(ms_arena *arena, const ms_candidates *candidates, const ms_deadline *limit,
                         ms_prices *prices);

#endif
