/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The rows of a cost model's problem for what the step waits for copies of layers.
 *
 * A problem that counts layers does not know their order, so its waiting is at most the step's:
 * - the copies of a run of segments have the time that those layers compute, and the layer above
 *   them, beside which they must end; what is longer is waited for;
 * - a layer's own copies have the rest of its pass and the longest that the layer above may take.
 *   These sums add up: beside each other, layers whose copies are longer than that share no window
 *   more than once, and others are further apart.
 * A copy that is waited for at once is computing time, and leaves the link to itself.
 */
#ifndef MS_DECIDE_PLAN_CHOOSE_COST_LINKS_H
#define MS_DECIDE_PLAN_CHOOSE_COST_LINKS_H

#include "decide/plan/choose/cost_problem.h"

/* Columns for the waiting in each pass of each micro-step, and their rows. */
void ms_cost_links_add_columns(ms_cost_problem *p);
void ms_cost_links_add_rows(ms_cost_problem *p);

#endif
