/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Passes that are copies of others: the step has the events of one that was run, and what no copy
 * can do is found.
 */
#include "input/config/model/model_config.h"
#include "run/simulate/simulate.h"
#include "run/step/pipeline/copied.h"
#include "core/trace/trace.h"
#include "unit/fixtures.h"

/* ---- steps ---- */

typedef struct step_case {
    const char *label;
    ms_run_setting settings[8];
} step_case;

#define MODEL                                                                                      \
    {"config", "llama-3.2-1b"}, {"device", "a100-80gb"},                                           \
    {                                                                                              \
        "seq", "64"                                                                                \
    }

static const step_case steps[] = {
    {"1F1B", {MODEL, {"parallel", "pp=2,microbatches=6"}}},
    {"1F1B, last", {MODEL, {"parallel", "pp=2,microbatches=6"}, {"rank", "1"}}},
    {"GPipe, last", {MODEL, {"parallel", "pp=4,schedule=gpipe,microbatches=5"}, {"rank", "3"}}},
    {"interleaved",
     {MODEL, {"parallel", "pp=2,schedule=interleaved,stages_per_rank=2,microbatches=6"}}},
    {"looped",
     {MODEL,
      {"parallel", "pp=2,schedule=loopedbfs,stages_per_rank=2,microbatches=5"},
      {"rank", "1"}}},
    {"checkpoints", {MODEL, {"parallel", "pp=2,microbatches=6"}, {"checkpointing", "all"}}},
    {"distributed gradients",
     {MODEL, {"parallel", "pp=2,microbatches=6,tp=2"}, {"sequence-parallel", "yes"}}},
    {"split loss",
     {MODEL, {"parallel", "pp=2,microbatches=4,tp=2"}, {"loss-parallel", "yes"}, {"rank", "2"}}},
};

/* The next allocation, free or use of the last step, from `at` on. */
static uint32_t next_event(const ms_simulated *s, uint32_t at)
{
    const ms_trace *trace = &s->simulation.trace;
    while (at < trace->events.count && trace->events.items[at].kind != MS_EVENT_ALLOC &&
           trace->events.items[at].kind != MS_EVENT_FREE &&
           trace->events.items[at].kind != MS_EVENT_RECORD)
        at++;
    return at;
}

/* Among the storages of the last step: how many were made before, or MS_NONE of an earlier one. */
static uint32_t place_of(const ms_simulated *s, uint32_t storage)
{
    uint32_t first = s->usage.first_steady_storage;
    return storage < first ? MS_NONE : storage - first;
}

static void check_event(const ms_simulated *a, const ms_simulated *b, uint32_t i, uint32_t j)
{
    const ms_event x = a->simulation.trace.events.items[i];
    const ms_event y = b->simulation.trace.events.items[j];
    assert_int_equal(x.kind, y.kind);
    bool is_use = x.kind == MS_EVENT_RECORD;
    uint32_t p = is_use ? a->simulation.trace.uses.items[x.id].storage : x.id;
    uint32_t q = is_use ? b->simulation.trace.uses.items[y.id].storage : y.id;
    const ms_storage *s = &a->simulation.trace.storages.items[p];
    const ms_storage *t = &b->simulation.trace.storages.items[q];
    assert_int_equal(s->bytes, t->bytes);
    assert_int_equal(s->stream, t->stream);
    assert_int_equal(place_of(a, p), place_of(b, q));
}

/* The last step of a run in full detail is recorded, so none of its passes are copies. */
static void copies_are_as_run(void **state)
{
    const step_case *c = *state;
    ms_arena *arena = ms_arena_create(0);
    ms_model_config model;
    ms_run_config run;
    ms_simulated copied, whole;
    ms_error err = {0};
    load_run(arena, c->settings, COUNT_OF(c->settings), &model, &run);
    const ms_job job = {.model = &model, .run = &run};
    assert_int_equal(ms_simulate(&job, MS_SIMULATE_USAGE, &copied, &err), MS_OK);
    assert_int_equal(ms_simulate(&job, MS_SIMULATE_ALL, &whole, &err), MS_OK);
    uint32_t i = next_event(&copied, copied.usage.steady_first_event);
    uint32_t j = next_event(&whole, whole.usage.steady_first_event);
    assert_true(i < copied.simulation.trace.events.count);
    for (; i < copied.simulation.trace.events.count; i = next_event(&copied, i + 1)) {
        assert_true(j < whole.simulation.trace.events.count);
        check_event(&copied, &whole, i, j);
        j = next_event(&whole, j + 1);
    }
    assert_int_equal(j, whole.simulation.trace.events.count);
    assert_int_equal(copied.usage.peak_bytes, whole.usage.peak_bytes);
    assert_int_equal(copied.usage.peak_reserved_bytes, whole.usage.peak_reserved_bytes);
    ms_simulated_free(&copied);
    ms_simulated_free(&whole);
    ms_arena_free(arena);
}

/* ---- what is recorded ---- */

typedef struct recorder_case {
    const char *label;
    bool frees_other; /* what the micro-batch did not make */
    bool is_good;
} recorder_case;

static const recorder_case recorders[] = {
    {"its own tensors", false, true},
    {"a tensor of another", true, false},
};

static void record_is_checked(void **state)
{
    const recorder_case *c = *state;
    ms_trace trace;
    ms_tape tape;
    ms_arena *arena = ms_arena_create(0);
    ms_pass_recorder recorder = {.parameters = 0};
    ms_made_parts made = {0};
    ms_recorded_pass pass;
    const ms_device device = {.name = "cpu", .is_cpu = true};
    assert_true(ms_trace_init(&trace));
    assert_true(ms_tape_init(&tape, &trace, (ms_tape_options){.device = &device}));
    const ms_shape shape = MS_SHAPE(ms_dim_number(&trace.symbols, 8));
    ms_tensor other = ms_empty(&tape, shape, MS_DTYPE_F32);
    ms_retain(&tape, other);
    ms_pass_begin(&recorder, &tape);
    ms_tensor own = ms_empty(&tape, shape, MS_DTYPE_F32);
    ms_retain(&tape, own);
    if (c->frees_other)
        ms_release(&tape, other);
    ms_pass_end(&recorder, &tape, MS_FLIGHT_FORWARD, &made);
    assert_int_equal(made.part[MS_FLIGHT_FORWARD].count, 1);
    assert_int_equal(ms_pass_record(&recorder, &tape, arena, MS_FLIGHT_FORWARD, &made, own, &pass),
                     c->is_good);
    ms_made_parts copy = {0};
    ms_tensor result = 0;
    assert_int_equal(ms_pass_copy(&pass, &tape, MS_FLIGHT_FORWARD, &copy, &result), c->is_good);
    assert_int_equal(result != 0, c->is_good);
    ms_tape_free(&tape);
    ms_trace_free(&trace);
    ms_arena_free(arena);
}

int main(void)
{
    struct CMUnitTest tests[COUNT_OF(steps) + COUNT_OF(recorders)];
    size_t count = ADD_ROWS(tests, copies_are_as_run, steps);
    ADD_ROWS(tests + count, record_is_checked, recorders);
    return cmocka_run_group_tests_name("copied passes", tests, NULL, NULL);
}
