/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "serve/stream/schedule.h"

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
