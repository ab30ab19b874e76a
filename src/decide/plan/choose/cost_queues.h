/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Rows for what the step waits for copies, of how copies queue for the link.
 *
 * A pass goes through its layers one after the other, and what they leave to the next is one
 * number, the state of the link:
 * - forward, the milliseconds that the link still needs for what is sent already; the layer waits
 *   until what the layer below sent is on the host;
 * - backward, minus the milliseconds that the layer's own copies were ahead of it, which began with
 *   the backward of the layer above; the layer waits for them where it needs the last.
 * A larger state is never better, and waiting for some time makes it smaller by at most that.
 *
 * Give each state a worth, a function that rises, at most as fast as the state. Then in any order
 * of the layers the waits add up to at least the sum, over the layers, of the least that
 *     wait + worth(state after the layer) - worth(state before it)
 * can be in any state, plus the worth of the first state, minus that of the last: the rest cancels.
 * So any worths make a row that holds for all assignments, and how good the row is depends on them.
 * For a solution of the problem they are chosen to make its waits largest, by a linear problem over
 * the states that its layers lead to; between those the worth is interpolated, and the least is
 * taken where it can be, at the corners of the function.
 */
#ifndef MS_DECIDE_PLAN_CHOOSE_COST_QUEUES_H
#define MS_DECIDE_PLAN_CHOOSE_COST_QUEUES_H

#include "decide/plan/choose/cost_passes.h"
#include "decide/plan/choose/cost_problem.h"

/* ---- queue states ---- */

/* The state of the link between two layers of a pass, what a layer makes of it, and what
 * states are worth: see cost_queues.h. */

/* ---- one layer ---- */

/* What a layer does to the link and the pass. */
typedef struct ms_queue_layer {
    double pass_ms; /* with copies that are waited for at once, which leave the link alone here */
    double link_ms;
    double at_ms; /* forward: before its copies begin; backward: before they are needed */
} ms_queue_layer;

ms_queue_layer ms_queue_layer_of(const ms_layer_cost *cost, uint32_t m, ms_cost_pass pass);
/* The state behind the layer, and what it waits. */
double ms_queue_state_after(const ms_queue_layer *layer, ms_cost_pass pass, double state,
                            double *wait);

/* ---- states ---- */

enum { MS_QUEUE_MOST_STATES = 48 };

/* A function of the state: straight between these, at least two of them. */
typedef struct ms_queue_states {
    uint32_t count;
    double at[MS_QUEUE_MOST_STATES]; /* rising: the first and the last are the least and the most */
    double worth[MS_QUEUE_MOST_STATES];
} ms_queue_states;

typedef struct ms_cost_queue ms_cost_queue;

/* Rows that the relaxed problem's solution does not meet. *added: how many; 0 also where the
 * problem has as many as it takes. */
ms_status ms_cost_queues_find(ms_arena *arena, ms_cost_problem *p, const ms_solution *solution,
                              uint32_t *added, ms_error *err);

/* The rows that were found. */
void ms_cost_queues_add_rows(ms_cost_problem *p);

/* What an assignment waits at the least in micro-step m by those rows, both passes: ms. */
double ms_cost_queues_wait(const ms_cost_problem *p, const uint32_t *options, uint32_t m);

/* The row that says most of an assignment's waiting in any pass of micro-step m; NULL: none. */
const ms_cost_queue *ms_cost_queues_longest(const ms_cost_problem *p, const uint32_t *options,
                                            uint32_t m);
ms_cost_pass ms_cost_queue_pass(const ms_cost_queue *row);
double ms_cost_queue_worth(const ms_cost_queue *row, double state);
/* What the row says of a layer of the segment with this option: ms. */
double ms_cost_queue_weight(const ms_cost_problem *p, const ms_cost_queue *row, uint32_t segment,
                            uint32_t option);

#endif
