/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "decide/plan/costs/layer_profile.h"

#include <math.h>

static void extend(ms_span *s, const ms_profile_span *stretch)
{
    if (!s->is_seen)
        s->begin = stretch->begin_bytes;
    s->is_seen = true;
    s->peak = stretch->peak_bytes > s->peak ? stretch->peak_bytes : s->peak;
    s->end = stretch->end_bytes;
    s->late += stretch->late_bytes;
    s->input += stretch->input_bytes;
    s->sent += stretch->sent_bytes;
    s->released += stretch->released_bytes;
    s->returned += stretch->returned_bytes;
    s->compute_ms += stretch->compute_ms;
    s->recompute_ms += stretch->recompute_ms;
    s->exposed_ms += stretch->exposed_ms;
}

static ms_span *span_of(ms_pass_figures *p, const ms_profile_span *stretch, uint64_t layers)
{
    bool forward = stretch->phase == MS_PHASE_FORWARD;
    if (stretch->layer != MS_NONE)
        return forward ? &p->forward[stretch->layer] : &p->backward[stretch->layer];
    if (forward)
        return p->forward[layers - 1].is_seen ? &p->loss : NULL;
    return p->backward[0].is_seen            ? &p->after
           : p->backward[layers - 1].is_seen ? NULL
                                             : &p->loss_backward;
}

uint32_t ms_last_micro_step(const ms_profile *profile)
{
    uint32_t last = 0;
    for (uint32_t i = 0; i < profile->spans.count; i++)
        if (profile->spans.items[i].micro_step > last)
            last = profile->spans.items[i].micro_step;
    return last;
}

void ms_count_repeats(const ms_profile *profile, uint32_t repeats[MS_COST_MICRO_STEPS])
{
    uint32_t next = 0; /* micro-step to come */
    repeats[0] = repeats[1] = 0;
    for (uint32_t i = 0; i < profile->spans.count; i++) {
        const ms_profile_span *span = &profile->spans.items[i];
        if (span->phase != MS_PHASE_FORWARD || span->micro_step != next)
            continue;
        repeats[next > 0] += span->repeats;
        next++;
    }
}

static bool in_a_pass(const ms_profile_span *stretch)
{
    return stretch->phase == MS_PHASE_FORWARD || stretch->phase == MS_PHASE_BACKWARD;
}

ms_status ms_pass_read(ms_arena *arena, const ms_profile *profile, uint32_t which, uint64_t layers,
                       ms_pass_figures *p, ms_error *err)
{
    uint32_t micro_step = which == 0 ? 0 : ms_last_micro_step(profile);
    *p = (ms_pass_figures){.forward = ms_arena_array(arena, ms_span, layers),
                           .backward = ms_arena_array(arena, ms_span, layers)};
    if (!p->forward || !p->backward)
        return ms_fail(err, MS_ERR_NOMEM, "out of memory for the layers' figures");
    for (uint32_t i = 0; i < profile->spans.count; i++) {
        const ms_profile_span *stretch = &profile->spans.items[i];
        ms_span *s = stretch->micro_step == micro_step && in_a_pass(stretch)
                         ? span_of(p, stretch, layers)
                         : NULL;
        if (s)
            extend(s, stretch);
    }
    return MS_OK;
}

int64_t ms_byte_difference(uint64_t a, uint64_t b)
{
    return a >= b ? (int64_t)(a - b) : -(int64_t)(b - a);
}

uint64_t ms_pass_sent_by(const ms_pass_figures *p, uint64_t i, uint64_t layers)
{
    return i + 1 < layers ? p->backward[i + 1].returned : 0;
}

void ms_pass_layer(const ms_pass_figures *p, uint64_t i, ms_layer_bytes *bytes)
{
    const ms_span *f = &p->forward[i], *b = &p->backward[i];
    *bytes = (ms_layer_bytes){
        .forward_peak = ms_byte_difference(f->peak, f->begin),
        .forward_end = ms_byte_difference(f->end, f->begin) + (int64_t)f->released,
        .forward_late = (int64_t)f->late,
        .input = (int64_t)f->input,
        .backward_peak = ms_byte_difference(b->peak, b->begin) - (int64_t)b->returned,
        .backward_end = ms_byte_difference(b->end, b->begin) - (int64_t)b->returned,
    };
}

static void add_wait(ms_layer_cost *cost, double ms)
{
    cost->ms += ms;
    cost->exposed_ms += ms;
}

/* What a layer's forward or backward computes and copies in one micro-step. */
static double steady_wait(const ms_profile *profile, const ms_profile_span *first)
{
    double compute = 0, to_host = 0, from_host = 0;
    for (uint32_t i = 0; i < profile->spans.count; i++) {
        const ms_profile_span *s = &profile->spans.items[i];
        if (s->layer != first->layer || s->phase != first->phase ||
            s->micro_step != first->micro_step)
            continue;
        if (s < first)
            return 0; /* counted there */
        compute += s->compute_ms;
        to_host += s->to_host_ms;
        from_host += s->from_host_ms;
    }
    return fmax(fmax(to_host, from_host) - compute, 0);
}

void ms_layers_add_time(const ms_profile *profile, uint64_t layers, ms_layer_cost *costs)
{
    for (uint32_t i = 0; i < profile->spans.count; i++) {
        const ms_profile_span *s = &profile->spans.items[i];
        if (s->layer >= layers)
            continue;
        ms_layer_cost *cost = &costs[s->layer], *below = s->layer > 0 ? cost - 1 : cost;
        cost->ms += s->compute_ms * s->repeats;
        cost->recompute_ms += s->recompute_ms * s->repeats;
        if (s->phase == MS_PHASE_FORWARD && s->micro_step == 0)
            cost->forward_flops += s->flops;
        add_wait(cost, (s->exposed_ms - s->exposed_below_ms) * s->repeats);
        add_wait(below, s->exposed_below_ms * s->repeats);
        cost->steady_exposed_ms += steady_wait(profile, s) * s->repeats;
    }
}

void ms_ends_read_outside(const ms_profile *profile, bool with_waits, ms_outer_cost *ends)
{
    bool is_past_first = false;
    uint8_t phase = MS_PHASE_COUNT;
    for (uint32_t i = 0; i < profile->spans.count; i++) {
        const ms_profile_span *s = &profile->spans.items[i];
        if (s->phase != phase)
            is_past_first = s->phase == MS_PHASE_BACKWARD;
        phase = s->phase;
        is_past_first = is_past_first || s->layer != MS_NONE;
        if (s->layer != MS_NONE)
            continue;
        ends->ms += (s->compute_ms + (with_waits ? s->exposed_ms : 0)) * s->repeats;
        if (!is_past_first && s->peak_bytes > ends->fixed_peak)
            ends->fixed_peak = s->peak_bytes;
    }
}

uint64_t ms_first_layer_begin(const ms_profile *profile)
{
    for (uint32_t i = 0; i < profile->spans.count; i++)
        if (profile->spans.items[i].layer == 0)
            return profile->spans.items[i].begin_bytes;
    return 0;
}
