/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Simulated runs for tests of replays, and whether a replay is equal to one.
 */
#ifndef UNIT_REPLAYS_H
#define UNIT_REPLAYS_H

#include "input/config/model/model_config.h"
#include "run/measure/usage.h"
#include "hardware/replay/replay.h"
#include "run/simulate/simulate.h"
#include "unit/backends.h"
#include "unit/fixtures.h"

typedef struct run_case {
    const char *label;
    ms_run_setting settings[8]; /* ends where a field is NULL */
} run_case;

typedef struct simulated {
    ms_arena *arena;
    ms_model_config model;
    ms_run_config run;
    ms_simulated s;
} simulated;

/* `tags`: "all=0.5", ... up to a NULL, for the run's offload; or NULL. */
static inline void simulate_tagged(const ms_run_setting *settings, size_t room,
                                   const char *const *tags, simulated *to)
{
    ms_error err = {0};
    to->arena = ms_arena_create(0);
    load_run(to->arena, settings, room, &to->model, &to->run);
    ms_offload_tag *items = ms_arena_array(to->arena, ms_offload_tag, MS_MOST_OFFLOAD_TAGS);
    uint32_t count = 0;
    for (; tags && tags[count]; count++)
        if (ms_offload_tag_read(tags[count], to->arena, to->model.num_layers, &items[count],
                                &err) != MS_OK)
            fail_msg("%s", err.text);
    to->run.offload_tags = (ms_offload_tags){items, count};
    const ms_job job = {.model = &to->model, .run = &to->run};
    if (ms_simulate(&job, MS_SIMULATE_ALL, &to->s, &err) != MS_OK)
        fail_msg("%s", err.text);
}

static inline void simulate(const ms_run_setting *settings, size_t room, simulated *to)
{
    simulate_tagged(settings, room, NULL, to);
}

static inline void drop(simulated *s)
{
    ms_simulated_free(&s->s);
    ms_arena_free(s->arena);
}

static inline ms_replay_options options_of(const simulated *s, bool is_memory_only)
{
    return (ms_replay_options){.allocator = s->s.usage.allocator, .is_memory_only = is_memory_only};
}

static inline void check_equal(const simulated *s, const ms_replay_result *r)
{
    const ms_usage *u = &s->s.usage;
    assert_int_equal(r->played_events, r->event_count);
    assert_int_equal(r->after_build_bytes, u->after_build_bytes);
    assert_int_equal(r->start_bytes, u->start_bytes);
    assert_int_equal(r->peak_bytes, u->peak_bytes);
    assert_int_equal(r->peak_event, u->peak_event);
    assert_int_equal(r->peak_reserved_bytes, u->peak_reserved_bytes);
    assert_int_equal(r->most_reserved_bytes, u->most_reserved_bytes);
    assert_int_equal(r->retries, u->retries);
    assert_int_equal(r->phases.count, u->phases.count);
    assert_int_equal(r->first_steady_phase, u->first_steady_phase);
    for (uint32_t i = 0; i < u->phases.count; i++) {
        const ms_phase_usage *a = &u->phases.items[i];
        const ms_replay_phase *b = &r->phases.items[i];
        assert_int_equal(a->phase, b->phase);
        assert_int_equal(a->start_bytes, b->start_bytes);
        assert_int_equal(a->peak_bytes, b->peak_bytes);
        assert_int_equal(a->end_bytes, b->end_bytes);
        assert_int_equal(a->peak_requested_bytes, b->peak_requested_bytes);
        assert_int_equal(a->end_requested_bytes, b->end_requested_bytes);
        assert_int_equal(a->peak_reserved_bytes, b->peak_reserved_bytes);
        assert_int_equal(a->end_reserved_bytes, b->end_reserved_bytes);
    }
    uint64_t sum = 0;
    for (int i = 0; i < MS_CATEGORY_COUNT; i++)
        sum += r->category_bytes[i];
    assert_int_equal(sum, r->peak_bytes);
}

#endif
