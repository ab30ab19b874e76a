/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The constraints of a cost problem that limit its memory level.
 */
#ifndef MS_DECIDE_PLAN_CHOOSE_COST_LEVELS_H
#define MS_DECIDE_PLAN_CHOOSE_COST_LEVELS_H

#include "decide/plan/choose/cost_problem.h"

/* ---- bytes that a layer adds to the level ---- */

/* After forward. */
static inline double ms_layer_saved_bytes(const ms_layer_cost *c, uint32_t m)
{
    return (double)ms_layer_saved(c, m);
}

/* Before the end of forward, while autocast's copies exist. */
static inline double ms_layer_made_bytes(const ms_layer_cost *c, uint32_t m)
{
    return ms_layer_saved_bytes(c, m) + (double)c->bytes[m].forward_late;
}

/* At the peak of its backward, including tensors fetched from the host. */
static inline double ms_layer_backward_peak_bytes(const ms_layer_cost *c, uint32_t m)
{
    return (double)c->bytes[m].backward_peak + (double)c->sent_bytes;
}

/* After its backward. */
static inline double ms_layer_backward_change_bytes(const ms_layer_cost *c, uint32_t m)
{
    return (double)c->bytes[m].backward_end + (double)c->sent_bytes;
}

/* Adds constraints for the loss, for the end of backward, and for the levels of the blocks' active
 * rows. */
void ms_cost_levels_add(ms_cost_problem *p);

/* Activates the constraints of blocks that the solution violates most. Returns how many; 0: none is
 * violated. */
uint32_t ms_cost_levels_unmet(ms_cost_problem *p, const ms_solution *solution);

#endif
