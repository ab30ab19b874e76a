/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Streamed passes with data on the host backend, with a random delay before its calls, links of
 * random rates, and now and then a call that fails or a stop: what is counted is what was
 * predicted, each layer computes with its own bytes, and everything is given back. Under
 * ThreadSanitizer, a place that is filled while a layer computes in it, or used before it is
 * filled, is a race.
 */
#include "input/config/model/model_config.h"
#include "sanitized.h"
#include "serve/stream/execute.h"
#include "unit/fixtures.h"
#include "unit/stress.h"

#define CAPACITY (UINT64_C(96) << 20)

typedef struct stress_row {
    ms_run_setting settings[4];
    ms_inference_phase phase;
    uint64_t prefetch;
    uint32_t layers, passes;
} stress_row;

#define TINY                                                                                       \
    {"config", "tests/oom/llama.json"},                                                            \
    {                                                                                              \
        "seq", "8"                                                                                 \
    }
static const stress_row rows[] = {
    {{TINY}, MS_INFERENCE_DECODE, 1, 4, 2},
    {{TINY, {"attention", "eager"}}, MS_INFERENCE_PREFILL, 2, 5, 2},
    {{TINY, {"allocator", "cuda-expandable"}}, MS_INFERENCE_DECODE, 3, 5, 3},
    {{TINY}, MS_INFERENCE_PREFILL, 9, 3, 2},
    {{TINY}, MS_INFERENCE_DECODE, 1, 1, 3},
    {{TINY, {"allocator", "raw"}}, MS_INFERENCE_PREFILL, 1, 3, 3},
};
enum { ROWS = COUNT_OF(rows) };

/* A run, and how many calls and products of the backend it takes. */
typedef struct stressed {
    ms_arena *arena;
    ms_model_config model;
    ms_run_config run;
    uint64_t calls, products;
} stressed;
static stressed all[ROWS];

static ms_status execute(const stressed *r, const stress_row *row, ms_backend *b,
                         const ms_stop *stop, ms_stream_measured *m, ms_error *err)
{
    const ms_stream_source source = ms_stream_source_memory();
    const ms_stream_execution asked = {.model = &r->model,
                                       .run = &r->run,
                                       .phase = row->phase,
                                       .prefetch = row->prefetch,
                                       .checked_passes = row->passes,
                                       .stop = stop};
    return ms_stream_execute(&asked, &source, b, m, err);
}

static void check_whole(const stress_row *row, const ms_stream_measured *m)
{
    assert_int_equal(m->result.played_events, m->result.event_count);
    assert_int_equal(m->result.peak_bytes, m->predicted.peak_bytes);
    assert_int_equal(m->result.most_reserved_bytes, m->predicted.most_reserved_bytes);
    assert_int_equal(m->checks, 2 * row->layers * row->passes);
}

/* One sentence. A device that is full where the allocator can give back and ask again, or in the
 * warm-up, is survived, and so are the last calls, which end it. */
static void check_failed(const stressed *r, const troubled_backend *t, ms_status status,
                         const ms_error *err)
{
    enum { LAST = 3 };
    if (status == MS_OK) {
        if (t->failure != MS_ERR_OVER_BUDGET && t->fails_at + LAST <= r->calls)
            fail_msg("call %u of %u fails unseen", (unsigned)t->fails_at, (unsigned)r->calls);
        return;
    }
    assert_int_equal(status, t->failure);
    assert_true(*err->text != '\0' && strchr(err->text, '\n') == NULL);
}

static void pass(uint64_t n)
{
    uint64_t seed = seed_of_pass(n);
    const stressed *r = &all[n % ROWS];
    const stress_row *row = &rows[n % ROWS];
    trouble kind = pick_trouble(&seed);
    ms_stop stop = 0;
    ms_stream_measured m;
    ms_error err = {0};
    troubled_backend *t = open_stressed(&seed, pick_links(&seed, CAPACITY), &stop);
    if (kind == TROUBLE_FAILURE)
        t->fails_at = 1 + next_random(&seed) % r->calls;
    if (kind == TROUBLE_STOP)
        t->stop_at = 1 + next_random(&seed) % (r->products / 2);
    ms_status status = execute(r, row, &t->base, &stop, &m, &err);
    if (kind == TROUBLE_NONE && status != MS_OK)
        fail_msg("pass %u: %s", (unsigned)n, err.text);
    if (kind == TROUBLE_NONE)
        check_whole(row, &m);
    else if (kind == TROUBLE_FAILURE)
        check_failed(r, t, status, &err);
    else
        assert_int_equal(status, MS_ERR_STOPPED);
    assert_true(m.result.most_used_bytes <= CAPACITY);
    assert_all_returned(t);
    ms_stream_measured_free(&m);
    t->base.calls->close(&t->base);
}

static int count_calls(void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS; i++) {
        const ms_backend_host_options options = {.capacity_bytes = CAPACITY, .has_no_blas = true};
        ms_stream_measured m;
        ms_error err = {0};
        all[i].arena = ms_arena_create(0);
        load_run(all[i].arena, rows[i].settings, COUNT_OF(rows[i].settings), &all[i].model,
                 &all[i].run);
        all[i].model.num_layers = rows[i].layers;
        troubled_backend *t = open_troubled(open_host(&options));
        if (execute(&all[i], &rows[i], &t->base, NULL, &m, &err) != MS_OK)
            fail_msg("%s", err.text);
        check_whole(&rows[i], &m);
        all[i].calls = t->calls;
        all[i].products = t->products;
        ms_stream_measured_free(&m);
        t->base.calls->close(&t->base);
    }
    return 0;
}

static int drop_all(void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS; i++)
        ms_arena_free(all[i].arena);
    return 0;
}

#ifdef SANITIZED
enum { FEW = 24 };
#else
enum { FEW = 60 };
#endif

static void passes_are_alike(void **state)
{
    (void)state;
    run_passes(pass, FEW);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(passes_are_alike)};
    return cmocka_run_group_tests_name("streams under stress", tests, count_calls, drop_all);
}
