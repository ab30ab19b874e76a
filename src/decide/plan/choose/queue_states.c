/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "decide/plan/choose/queue_states.h"

#include <math.h>
#include <string.h>

/* ---- one layer ---- */

ms_queue_layer ms_queue_layer_of(const ms_layer_cost *cost, uint32_t m, ms_cost_pass pass)
{
    const ms_pass_times t = ms_layer_pass_times(cost, m, pass);
    ms_queue_layer q = {.pass_ms = t.compute_ms + t.alone_ms, .link_ms = t.link_ms};
    if (t.link_ms > 0)
        q.at_ms = pass == MS_COST_FORWARD ? t.compute_ms - t.own_ms : t.own_ms + t.alone_ms;
    return q;
}

double ms_queue_state_after(const ms_queue_layer *q, ms_cost_pass pass, double state, double *wait)
{
    if (pass == MS_COST_FORWARD) {
        *wait = fmax(state - q->pass_ms, 0);
        double end = q->link_ms > 0 ? fmax(state, q->at_ms) + q->link_ms : state;
        return fmax(end - q->pass_ms - *wait, 0);
    }
    double left = q->link_ms > 0 ? fmax(q->link_ms + state, 0) : 0;
    *wait = fmax(left - q->at_ms, 0);
    return fmin(left - q->pass_ms - *wait, 0);
}

/* ---- states ---- */

uint32_t ms_queue_index(const ms_queue_states *s, double at)
{
    uint32_t i = 0;
    while (i + 2 < s->count && s->at[i + 1] <= at)
        i++;
    return i;
}

double ms_queue_share(const ms_queue_states *s, uint32_t i, double at)
{
    double share = (at - s->at[i]) / (s->at[i + 1] - s->at[i]);
    return fmin(fmax(share, 0), 1);
}

double ms_queue_worth(const ms_queue_states *s, double at)
{
    uint32_t i = ms_queue_index(s, at);
    return s->worth[i] + ms_queue_share(s, i, at) * (s->worth[i + 1] - s->worth[i]);
}

bool ms_queue_add_state(ms_queue_states *s, double at, double nearest, uint32_t most)
{
    uint32_t i = 0;
    double worth = s->count > 1 ? ms_queue_worth(s, at) : 0;
    while (i < s->count && s->at[i] < at)
        i++;
    if (s->count >= most || (i > 0 && at - s->at[i - 1] < nearest) ||
        (i < s->count && s->at[i] - at < nearest))
        return false;
    memmove(s->at + i + 1, s->at + i, (s->count - i) * sizeof *s->at);
    memmove(s->worth + i + 1, s->worth + i, (s->count - i) * sizeof *s->worth);
    s->at[i] = at;
    s->worth[i] = worth;
    s->count++;
    return true;
}
