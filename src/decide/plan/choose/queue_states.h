/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The state of the link between two layers of a pass, what a layer makes of it, and what states are
 * worth: see cost_queues.h.
 */
#ifndef MS_DECIDE_PLAN_CHOOSE_QUEUE_STATES_H
#define MS_DECIDE_PLAN_CHOOSE_QUEUE_STATES_H

#include "decide/plan/choose/cost_passes.h"

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

double ms_queue_worth(const ms_queue_states *s, double at);
/* Index of the last state that is not above; the one before the last for the last. */
uint32_t ms_queue_index(const ms_queue_states *s, double at);
/* How far it is from state i to the next: 0 to 1. */
double ms_queue_share(const ms_queue_states *s, uint32_t i, double at);
/* Between others it is worth what it was. False where there is one nearer than `nearest`, or there
 * are `most` already. */
bool ms_queue_add_state(ms_queue_states *s, double at, double nearest, uint32_t most);

#endif
