/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "decide/plan/costs/copies.h"

#include <inttypes.h>
#include <math.h>

#include "decide/plan/costs/layer_profile.h"

/* ---- waiting ---- */

static double later(double a, double b)
{
    return a > b ? a : b;
}

/* What is waited for each layer's own copies, per step; each: NULL where nobody asks. */
typedef struct waits {
    double *each;
    uint32_t repeats; /* of the micro-step */
} waits;

static void note(const waits *w, uint32_t layer, double ms)
{
    if (w->each)
        w->each[layer] += ms * w->repeats;
}

static double wait_forward(const ms_cost_model *costs, const uint32_t *options, uint32_t m,
                           double most, const waits *w)
{
    double now = 0, computed = 0, link = 0, sent = 0; /* sent: by the layers below */
    uint32_t sender = 0;                              /* the last of them */
    for (uint32_t i = 0; i < costs->layer_count && now - computed <= most; i++) {
        const ms_layer_copies *c = &costs->options[options[i]].layers[i].copies[m];
        double waited = 0, sends = 0;
        for (uint32_t k = 0; k < c->send_count; k++) {
            double at = now + c->sends[k].at_ms + waited;
            link = later(link, at) + c->sends[k].copy_ms;
            if (c->sends[k].is_alone)
                waited += later(link - at, 0);
            else
                sends = link;
        }
        computed += c->forward_ms;
        note(w, i, waited);
        now += c->forward_ms + waited;
        note(w, sender, later(sent - now, 0));
        now = later(now, sent);
        sender = sends > sent ? i : sender;
        sent = later(sent, sends);
    }
    return now - computed;
}

/* What layer `c` sent begins to come back; when each copy is there, by turn. */
static double begin_fetches(const ms_layer_copies *c, double now, double link, double *ends)
{
    for (uint32_t turn = 0; turn < c->fetch_count; turn++) {
        if (c->turns_ms[turn] > 0)
            link = later(link, now) + c->turns_ms[turn];
        ends[turn] = link;
    }
    return link;
}

static double wait_backward(const ms_cost_model *costs, const uint32_t *options, uint32_t m,
                            double most, const waits *w)
{
    double now = 0, computed = 0, link = 0;
    double ends[2][MS_COST_MOST_COPIES]; /* of this layer's copies, and the one below */
    for (uint32_t i = costs->layer_count; i-- > 0 && now - computed <= most;) {
        const ms_layer_copies *c = &costs->options[options[i]].layers[i].copies[m];
        const double *own = ends[i % 2];
        if (i > 0)
            link = begin_fetches(&costs->options[options[i - 1]].layers[i - 1].copies[m], now, link,
                                 ends[(i - 1) % 2]);
        double waited = 0;
        for (uint32_t k = 0; k < c->fetch_count; k++) {
            const ms_layer_copy *fetch = &c->fetches[k];
            double at = now + fetch->at_ms + waited, end = own[fetch->turn];
            if (fetch->is_alone)
                end = link = later(link, at) + fetch->copy_ms;
            waited += later(end - at, 0);
        }
        note(w, i, waited);
        computed += c->backward_ms;
        now += c->backward_ms + waited;
    }
    return now - computed;
}

void ms_copies_waits(const ms_cost_model *costs, const uint32_t *options, double *each)
{
    for (uint32_t i = 0; i < costs->layer_count; i++)
        each[i] = 0;
    for (uint32_t m = 0; m < costs->micro_steps; m++) {
        const waits w = {each, costs->repeats[m]};
        wait_forward(costs, options, m, INFINITY, &w);
        wait_backward(costs, options, m, INFINITY, &w);
    }
}

double ms_copies_wait_ms(const ms_cost_model *costs, const uint32_t *options, uint32_t m,
                         double most)
{
    const waits none = {0};
    double forward = wait_forward(costs, options, m, most, &none);
    return forward > most ? forward
                          : forward + wait_backward(costs, options, m, most - forward, &none);
}

/* ---- reading ---- */

/* A layer's copies in one micro-step, as they are found. */
typedef struct found {
    ms_layer_copy sends[MS_COST_MOST_COPIES], fetches[MS_COST_MOST_COPIES];
    uint32_t send_works[MS_COST_MOST_COPIES], fetch_works[MS_COST_MOST_COPIES]; /* by turn */
    double lengths[MS_COST_MOST_COPIES];                                        /* by turn */
    bool is_late[MS_COST_MOST_COPIES]; /* by turn: it begins in the layer itself */
    uint32_t send_count, begun_count, fetch_count;
    double forward_ms, backward_ms;
    bool is_odd;
} found;

static void find_send(found *f, const ms_profile_copy *copy, bool is_own)
{
    if (!copy->is_wait) {
        f->is_odd = f->is_odd || !is_own || f->send_count == MS_COST_MOST_COPIES;
        if (f->is_odd)
            return;
        f->send_works[f->send_count] = copy->work;
        f->sends[f->send_count++] =
            (ms_layer_copy){.at_ms = f->forward_ms + copy->compute_ms, .copy_ms = copy->copy_ms};
        return;
    }
    for (uint32_t k = 0; k < f->send_count && is_own; k++)
        if (f->send_works[k] == copy->work)
            f->sends[k].is_alone = true;
}

/* Early, a copy begins as the backward of the layer above does. */
static void find_fetch(found *f, const ms_profile_copy *copy, bool is_own, bool is_above)
{
    if (!copy->is_wait) {
        f->is_odd = f->is_odd || f->begun_count == MS_COST_MOST_COPIES ||
                    !(is_own || (is_above && copy->compute_ms <= 0));
        if (f->is_odd)
            return;
        f->fetch_works[f->begun_count] = copy->work;
        f->is_late[f->begun_count] = is_own;
        f->lengths[f->begun_count++] = copy->copy_ms;
        return;
    }
    f->is_odd = f->is_odd || !is_own || f->fetch_count == MS_COST_MOST_COPIES;
    for (uint32_t turn = 0; turn < f->begun_count && !f->is_odd; turn++)
        if (f->fetch_works[turn] == copy->work)
            f->fetches[f->fetch_count++] =
                (ms_layer_copy){.at_ms = f->backward_ms + copy->compute_ms,
                                .copy_ms = f->lengths[turn],
                                .is_alone = f->is_late[turn],
                                .turn = turn};
}

static const double *keep_turns(ms_arena *arena, const found *f)
{
    double *turns = ms_arena_array(arena, double, f->begun_count + 1);
    for (uint32_t turn = 0; turns && turn < f->begun_count; turn++)
        turns[turn] = f->is_late[turn] ? 0 : f->lengths[turn];
    return turns;
}

static const ms_layer_copy *keep(ms_arena *arena, const ms_layer_copy *copies, uint32_t count)
{
    ms_layer_copy *kept = ms_arena_array(arena, ms_layer_copy, count + 1);
    for (uint32_t i = 0; kept && i < count; i++)
        kept[i] = copies[i];
    return kept;
}

/* Layer `layer` in that micro-step: spans and copies in the order of the step. */
static void find(const ms_profile *profile, uint32_t micro_step, uint32_t layer, found *f)
{
    uint32_t copy = 0;
    *f = (found){0};
    for (uint32_t s = 0; s < profile->spans.count; s++) {
        const ms_profile_span *span = &profile->spans.items[s];
        bool is_own = span->layer == layer;
        for (; copy < profile->copies.count && profile->copies.items[copy].span == s; copy++) {
            const ms_profile_copy *c = &profile->copies.items[copy];
            if (c->layer != layer || span->micro_step != micro_step)
                continue;
            if (c->kind == MS_WORK_TO_HOST)
                find_send(f, c, is_own && span->phase == MS_PHASE_FORWARD);
            else
                find_fetch(f, c, is_own && span->phase == MS_PHASE_BACKWARD,
                           span->layer == layer + 1);
        }
        if (!is_own || span->micro_step != micro_step)
            continue;
        if (span->phase == MS_PHASE_FORWARD)
            f->forward_ms += span->compute_ms;
        else if (span->phase == MS_PHASE_BACKWARD)
            f->backward_ms += span->compute_ms;
    }
}

ms_status ms_copies_read(ms_arena *arena, const ms_profile *profile, uint32_t m, uint64_t layers,
                         ms_layer_cost *costs, bool *exact, ms_error *err)
{
    const uint32_t micro_step = m == 0 ? 0 : ms_last_micro_step(profile);
    for (uint32_t i = 0; i < layers; i++) {
        found f;
        find(profile, micro_step, i, &f);
        ms_layer_copies *c = &costs[i].copies[m];
        *c = (ms_layer_copies){.forward_ms = f.forward_ms,
                               .backward_ms = f.backward_ms,
                               .send_count = f.send_count,
                               .fetch_count = f.fetch_count,
                               .sends = keep(arena, f.sends, f.send_count),
                               .fetches = keep(arena, f.fetches, f.fetch_count),
                               .turns_ms = keep_turns(arena, &f)};
        *exact = *exact && !f.is_odd && f.fetch_count == f.begun_count;
        if (!c->sends || !c->fetches || !c->turns_ms)
            return ms_fail(err, MS_ERR_NOMEM, "out of memory for %" PRIu64 " layers' copies",
                           layers);
    }
    return MS_OK;
}
