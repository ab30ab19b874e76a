/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The rows of a cost model's problem that limit its level.
 */
#ifndef MS_PLAN_COSTS_COST_LEVELS_H
#define MS_PLAN_COSTS_COST_LEVELS_H

#include "plan/costs/cost_problem.h"

#define MS_MIB (1024.0 * 1024.0)

/* ---- what a layer adds to the level, in bytes ---- */

/* When forward is over. */
static inline double ms_layer_saved_bytes(const ms_layer_cost *c, uint32_t m)
{
    return (double)ms_layer_saved(c, m);
}

/* Before that, when its casts are still there. */
static inline double ms_layer_made_bytes(const ms_layer_cost *c, uint32_t m)
{
    return ms_layer_saved_bytes(c, m) + (double)c->bytes[m].forward_late;
}

/* By its backward at the highest; what comes back from the host is part of it. */
static inline double ms_layer_backward_peak_bytes(const ms_layer_cost *c, uint32_t m)
{
    return (double)c->bytes[m].backward_peak + (double)c->sent_bytes;
}

/* By its backward, afterwards. */
static inline double ms_layer_backward_change_bytes(const ms_layer_cost *c, uint32_t m)
{
    return (double)c->bytes[m].backward_end + (double)c->sent_bytes;
}

/* Rows for the loss, for what follows the layers, and for the levels that blocks have. */
void ms_cost_levels_add(ms_cost_problem *p);

/* Gives blocks those rows that the solution exceeds most. How many; 0: it meets all. */
uint32_t ms_cost_levels_unmet(ms_cost_problem *p, const ms_solution *solution);

#endif
