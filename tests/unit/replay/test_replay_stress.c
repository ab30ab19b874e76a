/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Replays with data on the host backend, with a random delay before its calls, links of random
 * rates, and now and then a call that fails or a stop: what is counted is what was predicted, no
 * more is used than there is, and everything is given back. Under ThreadSanitizer, memory that a
 * stream uses too early or too late is a race.
 */
#include "sanitized.h"
#include "unit/replays.h"
#include "unit/stress.h"

#define CAPACITY (UINT64_C(256) << 20)

#define TINY                                                                                       \
    {"config", "tests/unit/replay/llama.json"}, {"batch", "1"},                                    \
    {                                                                                              \
        "seq", "8"                                                                                 \
    }
static const run_case runs[] = {
    {"offload", {TINY, {"treat", "0-1=offload:0.6"}}},
    {"everything on the host",
     {TINY,
      {"treat", "0-2=offload:1"},
      {"parameter-device", "host"},
      {"optimizer-device", "host"}}},
    {"expandable", {TINY, {"treat", "0-1=offload:0.5"}, {"allocator", "cuda-expandable"}}},
    {"raw", {TINY, {"treat", "0-2=offload:1"}, {"allocator", "raw"}}},
    {"micro-steps", {TINY, {"optimizer-device", "host"}, {"accumulate", "3"}}},
    {"by tag", {TINY, {"seq", "64"}}},
    {"by tag, micro-steps", {TINY, {"seq", "64"}, {"accumulate", "2"}}},
};
/* Those by tag offload this, and keep it on the host. */
static const char *const tags[] = {"all=1", "mlp=0.6", NULL};
enum { RUNS = COUNT_OF(runs) };

/* A run, and how many calls and products of the backend it takes. */
typedef struct stressed {
    simulated s;
    bool is_tagged;
    uint64_t calls, products;
} stressed;
static stressed all[RUNS];

/* One sentence, and a result that goes as far as it came. A device that is full in the warm-up, or
 * where the allocator can give back and ask again, is survived, and so is the very last call. */
static void check_failed(const stressed *r, const troubled_backend *t, ms_status status,
                         const ms_replay_result *result, const ms_error *err)
{
    if (status == MS_OK) {
        assert_true(t->failure == MS_ERR_OVER_BUDGET || t->fails_at + 1 >= r->calls);
        return;
    }
    assert_int_equal(status, t->failure);
    assert_true(*err->text != '\0' && strchr(err->text, '\n') == NULL);
    assert_true(!result->has_times || result->played_events == result->event_count);
    assert_true(result->before_used_bytes <= result->most_used_bytes);
}

static void check_stopped(const ms_replay_result *result, ms_status status, const ms_error *err)
{
    assert_int_equal(status, MS_ERR_STOPPED);
    assert_non_null(strstr(err->text, "stopped"));
    assert_true(result->played_events < result->event_count && !result->has_times);
}

static void pass(uint64_t n)
{
    uint64_t seed = seed_of_pass(n);
    stressed *r = &all[n % RUNS];
    trouble kind = pick_trouble(&seed);
    ms_stop stop = 0;
    ms_replay_result result;
    ms_error err = {0};
    ms_backend_host_options options = pick_links(&seed, CAPACITY);
    options.host_bytes = pick_rate(&seed);
    troubled_backend *t = open_stressed(&seed, options, &stop);
    ms_replay_options how = options_of(&r->s, false);
    how.stop = &stop;
    how.keeps_host_copies = r->is_tagged;
    if (kind == TROUBLE_FAILURE)
        t->fails_at = 1 + next_random(&seed) % r->calls;
    if (kind == TROUBLE_STOP)
        t->stop_at = 1 + next_random(&seed) % (r->products - 1);
    ms_status status = ms_replay_run(&t->base, &r->s.s.simulation.trace, &how, &result, &err);
    if (kind == TROUBLE_NONE && status != MS_OK)
        fail_msg("%s", err.text);
    if (kind == TROUBLE_NONE)
        check_equal(&r->s, &result);
    else if (kind == TROUBLE_FAILURE)
        check_failed(r, t, status, &result, &err);
    else
        check_stopped(&result, status, &err);
    assert_true(result.most_used_bytes <= CAPACITY);
    assert_all_returned(t);
    ms_replay_free(&result);
    t->base.calls->close(&t->base);
}

static int count_calls(void **state)
{
    (void)state;
    for (size_t i = 0; i < RUNS; i++) {
        ms_replay_result result;
        ms_error err = {0};
        all[i].is_tagged = strstr(runs[i].label, "by tag") != NULL;
        simulate_tagged(runs[i].settings, COUNT_OF(runs[i].settings),
                        all[i].is_tagged ? tags : NULL, &all[i].s);
        troubled_backend *t = open_troubled(
            open_host(&(ms_backend_host_options){.capacity_bytes = CAPACITY, .skips_data = true}));
        ms_replay_options how = options_of(&all[i].s, false);
        how.keeps_host_copies = all[i].is_tagged;
        assert_int_equal(ms_replay_run(&t->base, &all[i].s.s.simulation.trace, &how, &result, &err),
                         MS_OK);
        all[i].calls = t->calls;
        all[i].products = t->products;
        assert_true(!all[i].is_tagged || result.copies > 0);
        ms_replay_free(&result);
        t->base.calls->close(&t->base);
    }
    return 0;
}

static int drop_all(void **state)
{
    (void)state;
    for (size_t i = 0; i < RUNS; i++)
        drop(&all[i].s);
    return 0;
}

#ifdef SANITIZED
enum { FEW = 15 };
#else
enum { FEW = 30 };
#endif

static void passes_are_alike(void **state)
{
    (void)state;
    run_passes(pass, FEW);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(passes_are_alike)};
    return cmocka_run_group_tests_name("replays under stress", tests, count_calls, drop_all);
}
