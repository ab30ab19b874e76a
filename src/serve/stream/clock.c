/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "serve/stream/clock.h"

#include <stdbool.h>
#include <stdint.h>

/* ---- schedule ---- */

ms_stream_schedule ms_stream_schedule_begin(uint32_t layers, uint64_t prefetch, uint64_t passes)
{
    uint32_t slots = prefetch < layers ? (uint32_t)prefetch + 1 : layers;
    return (ms_stream_schedule){.layers = layers, .slots = slots, .passes = passes};
}

static ms_stream_action action_of(const ms_stream_schedule *s, ms_stream_action_kind kind,
                                  uint64_t index)
{
    bool stays = s->slots == s->layers;
    uint32_t layer = (uint32_t)(index % s->layers);
    return (ms_stream_action){.kind = kind,
                              .pass = index / s->layers,
                              .layer = layer,
                              .slot = stays ? layer : (uint32_t)(index % s->slots)};
}

/* As many layers ahead of those that were used as there are places. */
static bool fetches(const ms_stream_schedule *s)
{
    bool stays = s->slots == s->layers;
    if (s->passes && s->fetched >= s->passes * s->layers)
        return false;
    return s->fetched < (stays ? s->layers : s->used + s->slots);
}

ms_stream_action ms_stream_schedule_next(ms_stream_schedule *s)
{
    bool stays = s->slots == s->layers;
    if (s->has_used) {
        s->has_used = false;
        s->used++;
        s->has_ended_pass = s->used % s->layers == 0;
        if (!stays)
            return action_of(s, MS_STREAM_EVICT, s->used - 1);
    }
    if (fetches(s))
        return action_of(s, MS_STREAM_FETCH, s->fetched++);
    if (s->has_ended_pass) {
        s->has_ended_pass = false;
        return action_of(s, MS_STREAM_PASS, s->used - 1);
    }
    if (s->passes && s->used == s->passes * s->layers)
        return (ms_stream_action){.kind = MS_STREAM_END};
    s->has_used = true;
    return action_of(s, MS_STREAM_USE, s->used);
}

/* ---- clock ---- */

enum { PASSES = 64, HALF = PASSES / 2 }; /* the mean is of the last half */

static const double nearly = 1 + 1e-9;

static double later(double a, double b)
{
    return a > b ? a : b;
}

typedef struct clock {
    const ms_stream_pass *pass;
    double compute_ms, copy_ms; /* when each stream is done */
    double *there_ms;           /* by slot: when its layer is there */
    double *free_ms;            /* by slot: when it may be overwritten */
} clock;

static void play(clock *c, ms_stream_action a)
{
    const ms_stream_layer *layer = &c->pass->layers.items[a.layer];
    switch (a.kind) {
    case MS_STREAM_FETCH:
        c->copy_ms = later(c->copy_ms, c->free_ms[a.slot]) + ms_stream_copy_ms(c->pass, a.layer);
        c->there_ms[a.slot] = c->copy_ms;
        break;
    case MS_STREAM_USE:
        c->compute_ms =
            later(c->compute_ms + layer->before_ms, c->there_ms[a.slot]) + layer->compute_ms;
        break;
    case MS_STREAM_EVICT:
        c->free_ms[a.slot] = c->compute_ms;
        break;
    case MS_STREAM_PASS:
        c->compute_ms += c->pass->after_ms;
        break;
    case MS_STREAM_END:
        break;
    }
}

ms_status ms_stream_clock_passes(const ms_stream_pass *pass, uint64_t prefetch, uint32_t count,
                                 double *end_ms, ms_error *err)
{
    ms_stream_schedule s = ms_stream_schedule_begin(pass->layers.count, prefetch, 0);
    double *places = calloc((size_t)s.slots * 2, sizeof *places);
    if (!places)
        return ms_fail(err, MS_ERR_NOMEM, "no memory for the times of a stream");
    clock c = {.pass = pass, .there_ms = places, .free_ms = places + s.slots};
    for (uint32_t i = 0; i < count;) {
        const ms_stream_action a = ms_stream_schedule_next(&s);
        play(&c, a);
        if (a.kind == MS_STREAM_PASS)
            end_ms[i++] = c.compute_ms;
    }
    free(places);
    return MS_OK;
}

static double copies_ms(const ms_stream_pass *pass, uint64_t prefetch)
{
    double ms = 0;
    bool stays = prefetch + 1 >= pass->layers.count;
    for (uint32_t i = 0; i < pass->layers.count && !stays; i++)
        ms += ms_stream_copy_ms(pass, i);
    return ms;
}

ms_status ms_stream_clock_play(const ms_stream_pass *pass, uint64_t prefetch,
                               ms_stream_times *times, ms_error *err)
{
    double end_ms[PASSES] = {0};
    ms_status status = ms_stream_clock_passes(pass, prefetch, PASSES, end_ms, err);
    double compute_ms = ms_stream_compute_ms(pass);
    double pass_ms = (end_ms[PASSES - 1] - end_ms[HALF - 1]) / HALF;
    if (pass_ms <= compute_ms * nearly)
        pass_ms = compute_ms; /* what is added up in another order differs in the last digits */
    *times = (ms_stream_times){.first_ms = end_ms[0],
                               .pass_ms = pass_ms,
                               .compute_ms = compute_ms,
                               .copy_ms = copies_ms(pass, prefetch),
                               .exposed_ms = pass_ms - compute_ms};
    times->hidden_ms = later(times->copy_ms - times->exposed_ms, 0);
    return status;
}

/* The smallest of 1 .. most whose pass takes at most `ms`; more layers ahead never take longer. */
static ms_status find_smallest(const ms_stream_pass *pass, uint64_t most, double ms,
                               uint64_t *smallest, ms_error *err)
{
    uint64_t low = 1;
    while (low < most) {
        uint64_t middle = low + (most - low) / 2;
        ms_stream_times times;
        ms_status status = ms_stream_clock_play(pass, middle, &times, err);
        if (status != MS_OK)
            return status;
        if (times.pass_ms <= ms * nearly)
            most = middle;
        else
            low = middle + 1;
    }
    *smallest = low;
    return MS_OK;
}

ms_status ms_stream_clock_enough(const ms_stream_pass *pass, ms_stream_enough *enough,
                                 ms_error *err)
{
    ms_stream_times times;
    uint64_t most = pass->layers.count > 2 ? pass->layers.count - 2 : 0;
    *enough = (ms_stream_enough){0};
    if (most == 0)
        return MS_OK;
    ms_status status = ms_stream_clock_play(pass, most, &times, err);
    if (status == MS_OK)
        status = find_smallest(pass, most, times.pass_ms, &enough->best, err);
    if (status == MS_OK && times.exposed_ms <= 0)
        enough->hides = enough->best;
    return status;
}
