/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "decide/plan/choose/cost_passes.h"

ms_pass_times ms_layer_pass_times(const ms_layer_cost *cost, uint32_t m, ms_cost_pass pass)
{
    const ms_layer_copies *c = &cost->copies[m];
    bool forward = pass == MS_COST_FORWARD;
    uint32_t count = forward ? c->send_count : c->fetch_count;
    const ms_layer_copy *copies = forward ? c->sends : c->fetches;
    ms_pass_times t = {.compute_ms = forward ? c->forward_ms : c->backward_ms};
    for (uint32_t i = 0; i < count; i++) {
        if (copies[i].is_alone) {
            t.alone_ms += copies[i].copy_ms;
            continue;
        }
        if (forward && t.link_ms <= 0)
            t.own_ms = c->forward_ms - copies[i].at_ms;
        else if (!forward)
            t.own_ms = copies[i].at_ms;
        t.link_ms += copies[i].copy_ms;
    }
    return t;
}

double ms_layer_least_ms(const ms_cost_model *costs, const ms_layer_cost *cost)
{
    if (!costs->has_exact_waits)
        return cost->ms;
    double ms = cost->ms - cost->exposed_ms + cost->sure_wait_ms;
    for (uint32_t m = 0; m < costs->micro_steps; m++)
        for (int pass = 0; pass < MS_COST_PASSES; pass++)
            ms += ms_layer_pass_times(cost, m, (ms_cost_pass)pass).alone_ms * costs->repeats[m];
    return ms;
}
