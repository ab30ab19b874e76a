/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What one layer takes of a pass: computing, and its copies to the host or back.
 */
#ifndef MS_DECIDE_PLAN_CHOOSE_COST_PASSES_H
#define MS_DECIDE_PLAN_CHOOSE_COST_PASSES_H

#include "decide/plan/costs/cost_model.h"

typedef enum ms_cost_pass { MS_COST_FORWARD, MS_COST_BACKWARD, MS_COST_PASSES } ms_cost_pass;

/* Milliseconds of one layer in a pass of micro-step m. */
typedef struct ms_pass_times {
    double compute_ms;
    double link_ms;  /* its copies in the direction of the pass */
    double alone_ms; /* those that are waited for at once, which are not in link_ms */
    double own_ms;   /* of its own computing, what its copies have beside them */
} ms_pass_times;

ms_pass_times ms_layer_pass_times(const ms_layer_cost *cost, uint32_t m, ms_cost_pass pass);

/* What a layer takes of the step at the least, whatever its neighbours do: computing, and copies
 * that are waited for at once. With waits that are not exact, all of its time. */
double ms_layer_least_ms(const ms_cost_model *costs, const ms_layer_cost *cost);

#endif
