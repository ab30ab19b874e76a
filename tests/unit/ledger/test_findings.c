/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What findings are made from, against the curves of whole runs: what the allocator caches at the
 * peak, and what its retries give back. Their sentences: tests/property/report/check_notes.py.
 */
#include "unit/support.h"

#include "input/config/model/model_config.h"
#include "model/load.h"
#include "decide/ledger/allocator_findings.h"

#define MIB(n) (UINT64_C(1048576) * (n))
enum { MOST_SETTINGS = 6 };

typedef struct run_case {
    const char *label;
    ms_run_setting settings[MOST_SETTINGS];
    uint64_t steady_retries;
} run_case;

static const run_case cases[] = {
    {"rests", {{"config", "smollm2-135m"}, {"seq", "1024"}, {"batch", "4"}}, 0},
    {"whole segments", {{"config", "llama-3.1-8b"}, {"batch", "4"}, {"checkpointing", "all"}}, 0},
    {"fp16 on an older device",
     {{"config", "pythia-1b"}, {"device", "v100-32gb"}, {"dtype", "fp16"}, {"seq", "1024"}},
     0},
    {"expandable",
     {{"config", "smollm2-135m"}, {"batch", "4"}, {"allocator", "cuda-expandable"}},
     0},
    {"retries in every step",
     {{"config", "phi-3-mini-4k"}, {"seq", "512"}, {"batch", "2"}, {"budget", "30GiB"}},
     4},
    {"retries before the steady step",
     {{"config", "gpt2-xl"}, {"seq", "1024"}, {"batch", "4"}, {"budget", "30GiB"}},
     0},
};

typedef struct measured {
    ms_arena *arena;
    ms_model_config model;
    ms_run_config run;
    ms_simulation simulation;
    ms_usage usage;
} measured;

static void measure(const run_case *c, measured *m)
{
    size_t count = 0;
    while (count < MOST_SETTINGS && c->settings[count].field)
        count++;
    *m = (measured){.arena = ms_arena_create(0)};
    assert_int_equal(ms_run_load(m->arena, c->settings, count, &m->model, &m->run, NULL, NULL),
                     MS_OK);
    assert_int_equal(ms_step_simulate(&m->model, &m->run, MS_STEPS_ALL, &m->simulation, NULL),
                     MS_OK);
    assert_int_equal(ms_usage_measure(&m->simulation.trace, &m->run.allocator, &m->usage, NULL),
                     MS_OK);
}

static void release(measured *m)
{
    ms_usage_free(&m->usage);
    ms_simulation_free(&m->simulation);
    ms_arena_free(m->arena);
}

/* ---- what is cached ---- */

static void check_sizes(const ms_cached *cached)
{
    uint64_t before = UINT64_MAX, shown = 0;
    for (uint32_t i = 0; i < cached->size_count; i++) {
        uint64_t together = cached->sizes[i].bytes * cached->sizes[i].count;
        assert_true(together <= before && together > 0);
        shown += together;
        before = together;
    }
    assert_true(cached->has_more ? shown < cached->bytes : shown == cached->bytes);
}

static void cached_is_the_gap(void **state)
{
    measured m;
    ms_cached_pieces cached;
    measure(*state, &m);
    ms_ledger ledger = {
        .simulation = &m.simulation, .usage = &m.usage, .model = &m.model, .run = &m.run};
    assert_int_equal(ms_cached_find(&ledger, &cached, NULL), MS_OK);
    uint64_t reserved = m.usage.reserved_bytes[m.usage.peak_event - m.usage.steady_first_event];
    assert_int_equal(cached.rests.bytes + cached.segments.bytes, reserved - m.usage.peak_bytes);
    check_sizes(&cached.rests);
    check_sizes(&cached.segments);
    release(&m);
}

/* ---- what retries give back ---- */

/* PyTorch's, for a request that no cached block serves. */
static uint64_t segment_bytes(uint64_t bytes)
{
    if (bytes <= MIB(1))
        return MIB(2);
    return bytes < MIB(10) ? MIB(20) : (bytes + MIB(2) - 1) / MIB(2) * MIB(2);
}

static void retries_give_back(void **state)
{
    const run_case *c = *state;
    measured m;
    uint64_t given = 0, times = 0;
    measure(c, &m);
    const ms_trace *trace = &m.simulation.trace;
    for (uint32_t i = m.usage.steady_first_event + 1; i < m.usage.steady_end_event; i++) {
        const uint64_t *reserved = &m.usage.reserved_bytes[i - m.usage.steady_first_event];
        if (trace->events.items[i].kind != MS_EVENT_ALLOC || reserved[0] == reserved[-1])
            continue;
        uint64_t added = segment_bytes(trace->storages.items[trace->events.items[i].id].bytes);
        given += reserved[-1] + added - reserved[0];
        times += reserved[-1] + added > reserved[0];
    }
    assert_int_equal(m.usage.steady_retries, c->steady_retries);
    if (m.run.allocator.kind == MS_ALLOCATOR_CUDA) {
        assert_int_equal(m.usage.steady_retry_bytes, given);
        assert_true(times <= m.usage.steady_retries);
    }
    release(&m);
}

int main(void)
{
    int failed = run_rows("what is cached at the peak", cached_is_the_gap, cases);
    return failed + run_rows("what retries give back", retries_give_back, cases);
}
