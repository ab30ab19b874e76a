/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Replays on the host backend: what they allocate and reserve is what the simulation says, to the
 * byte; every failure gives everything back; copies are hidden or waited for as the trace orders.
 */
#include <dirent.h>
#include <math.h>

#include "sanitized.h"
#include "core/trace/build.h"
#include "unit/replays.h"

#define GIB(n) (UINT64_C(1) << 30) * (n)
#define MIB (UINT64_C(1) << 20)

/* Without data: memory of any size. */
#ifdef WATCHES_THREADS
#define LARGE_BYTES (UINT64_C(1) << 37)
#else
#define LARGE_BYTES (UINT64_C(1) << 44)
#endif
static const ms_backend_host_options endless = {.capacity_bytes = LARGE_BYTES, .skips_data = true};

/* ---- every preset ---- */

/* In full size: no byte is written. The arena counts by itself what it gave. Two steps, the second
 * of which is like all others, are enough. */
static void check_preset(const char *name)
{
    const ms_run_setting settings[] = {
        {"config", name}, {"budget", "30000GiB"}, {"allocator", "cuda"}};
    simulated s = {.arena = ms_arena_create(0)};
    ms_replay_result r;
    ms_error err = {0};
    ms_backend *b = open_host(&endless);
    load_run(s.arena, settings, COUNT_OF(settings), &s.model, &s.run);
    if (ms_step_simulate(&s.model, &s.run, MS_STEPS_LEAN, &s.s.simulation, &err) != MS_OK ||
        ms_usage_measure(&s.s.simulation.trace, &s.run.allocator, &s.s.usage, &err) != MS_OK)
        fail_msg("%s: %s", name, err.text);
    const ms_replay_options options = options_of(&s, true);
    if (ms_replay_run(b, &s.s.simulation.trace, &options, &r, &err) != MS_OK)
        fail_msg("%s: %s", name, err.text);
    check_equal(&s, &r);
    assert_int_equal(r.most_used_bytes, r.most_reserved_bytes);
    ms_replay_free(&r);
    b->calls->close(b);
    drop(&s);
}

/* A sanitizer has seen the code after a few of them: there it is every 16th. */
#ifdef SANITIZED
enum { PRESETS_APART = 16 };
#else
enum { PRESETS_APART = 1 };
#endif

static void presets_are_equal(void **state)
{
#ifdef WATCHES_THREADS
    skip(); /* it has one thread, and takes many addresses */
#endif
    struct dirent **entries;
    unsigned count = 0;
    (void)state;
    int entry_count = scandir("configs", &entries, NULL, alphasort);
    assert_true(entry_count > 0);
    for (int i = 0; i < entry_count; i++) {
        char name[256];
        snprintf(name, sizeof name, "%s", entries[i]->d_name);
        free(entries[i]);
        char *end = strstr(name, ".json");
        if (!end || strcmp(name, "devices.json") == 0 || strcmp(name, "rates.json") == 0)
            continue;
        *end = '\0';
        if (count++ % PRESETS_APART == 0)
            check_preset(name);
    }
    free(entries);
    assert_true(count >= 90);
}

/* ---- runs of every kind ---- */

#define SMALL                                                                                      \
    {"config", "smollm2-135m"}, {"batch", "2"},                                                    \
    {                                                                                              \
        "seq", "256"                                                                               \
    }
static const run_case runs[] = {
    {"plain", {SMALL}},
    {"raw", {SMALL, {"allocator", "raw"}}},
    {"expandable", {SMALL, {"allocator", "cuda-expandable"}}},
    {"checkpointing", {SMALL, {"checkpointing", "all"}}},
    {"checkpointing of some, expandable",
     {SMALL, {"checkpointing", "every:3"}, {"allocator", "cuda-expandable"}}},
    {"offload of half of the layers", {SMALL, {"treat", "0-14=offload:1"}}},
    {"offload in part, expandable",
     {SMALL, {"treat", "0-29=offload:0.5"}, {"allocator", "cuda-expandable"}}},
    {"selective parts", {SMALL, {"treat", "0-9=checkpoint,10-19=offload:0.3,loss=chunk:8"}}},
    {"micro-steps", {SMALL, {"accumulate", "6"}}},
    {"an optimizer on the host", {SMALL, {"optimizer-device", "host"}}},
    {"parameters on the host", {SMALL, {"parameter-device", "host"}, {"optimizer-device", "host"}}},
    {"adafactor", {SMALL, {"optimizer", "adafactor"}}},
    {"lora", {SMALL, {"lora", "r=8,targets=all-linear"}}},
    {"emptied caches", {SMALL, {"empty-cache-steps", "1"}}},
    {"gpt2 in fp32 with clipping",
     {{"config", "gpt2"}, {"batch", "2"}, {"seq", "256"}, {"dtype", "fp32"}, {"clip", "1"}}},
};

static void runs_are_equal(void **state)
{
    const run_case *c = *state;
    simulated s;
    ms_error err = {0};
    simulate(c->settings, COUNT_OF(c->settings), &s);
    for (int is_memory_only = 0; is_memory_only < 2; is_memory_only++) {
        ms_replay_result r;
        troubled_backend *t = open_troubled(open_host(&endless));
        const ms_replay_options options = options_of(&s, is_memory_only);
        if (ms_replay_run(&t->base, &s.s.simulation.trace, &options, &r, &err) != MS_OK)
            fail_msg("%s", err.text);
        check_equal(&s, &r);
        /* The host gives whole pages, which segments of the raw allocator are not. */
        uint64_t grown = r.most_used_bytes - r.before_used_bytes - r.landing_bytes;
        assert_true(s.run.allocator.kind == MS_ALLOCATOR_RAW ? grown > r.most_reserved_bytes
                                                             : grown == r.most_reserved_bytes);
        assert_memory_equal(r.category_bytes, s.s.peak.category_bytes, sizeof r.category_bytes);
        assert_int_equal(r.operators > 0, !is_memory_only);
        assert_int_equal(r.landing_bytes,
                         is_memory_only ? 0 : ms_replay_own_bytes(&s.s.simulation.trace));
        assert_all_returned(t);
        ms_replay_free(&r);
        t->base.calls->close(&t->base);
    }
    drop(&s);
}

/* ---- with data ---- */

#define TINY                                                                                       \
    {"config", "tests/oom/llama.json"}, {"batch", "1"},                                            \
    {                                                                                              \
        "seq", "32"                                                                                \
    }
static const run_case tiny_runs[] = {
    {"plain, with data", {TINY}},
    {"offload, with data", {TINY, {"treat", "0-1=offload:0.7"}}},
    {"an optimizer on the host, with data", {TINY, {"optimizer-device", "host"}}},
    {"expandable, with data", {TINY, {"allocator", "cuda-expandable"}}},
};

static const ms_backend_host_options fast = {.capacity_bytes = GIB(3)};

static void data_is_moved(void **state)
{
    const run_case *c = *state;
    simulated s;
    ms_replay_result r;
    ms_error err = {0};
    troubled_backend *t = open_troubled(open_host(&fast));
    simulate(c->settings, COUNT_OF(c->settings), &s);
    const ms_replay_options options = options_of(&s, false);
    if (ms_replay_run(&t->base, &s.s.simulation.trace, &options, &r, &err) != MS_OK)
        fail_msg("%s", err.text);
    check_equal(&s, &r);
    assert_true(r.has_times && r.step_ms > 0 && r.times_ms[MS_OP_PRODUCT] > 0 &&
                r.times_ms[MS_OP_OTHER] > 0);
    double sum = 0, phases = 0;
    for (int i = 0; i < MS_REPLAY_TIMES; i++)
        sum += r.times_ms[i];
    for (uint32_t i = 0; i < r.phases.count; i++)
        phases += r.phases.items[i].ms;
    assert_true(fabs(sum - r.step_ms) < 1e-6 && fabs(phases - r.step_ms) < 1e-6);
    assert_int_equal(r.copies > 0, strstr(c->label, "offload") || strstr(c->label, "host"));
    assert_true(r.product_flops > 0 && r.traffic_bytes > 0);
    assert_all_returned(t);
    ms_replay_free(&r);
    t->base.calls->close(&t->base);
    drop(&s);
}

/* ---- copies ---- */

typedef struct link_case {
    const char *label;
    double link_bytes; /* per second, each way */
} link_case;

static const link_case links[] = {
    {"fast links", 1e15}, {"links that are busy all the time", 2e9}, {"slow links", 1e8}};

/* The clock of the simulation at the same rates, which plays the same trace in its own way. */
static void copies_take_what_is_predicted(void **state)
{
    const link_case *c = *state;
    const run_case run = {"", {SMALL, {"treat", "0-29=offload:1"}}};
    const ms_backend_host_options options = {.capacity_bytes = GIB(30),
                                             .skips_data = true,
                                             .to_device_bytes = c->link_bytes,
                                             .to_host_bytes = c->link_bytes,
                                             .traffic_bytes = 1e12,
                                             .product_flops = 1e14};
    simulated s;
    ms_replay_result r;
    ms_error err = {0};
    ms_backend *b = open_host(&options);
    simulate(run.settings, COUNT_OF(run.settings), &s);
    const ms_replay_options how = options_of(&s, false);
    assert_int_equal(ms_replay_run(b, &s.s.simulation.trace, &how, &r, &err), MS_OK);
    double alone = (double)r.copied_bytes / c->link_bytes * 1e3;
    assert_true(fabs(r.copy_ms - alone) < 1e-6 * alone);
    double waited = r.times_ms[MS_REPLAY_WAITING], work = r.step_ms - waited;
    assert_true(waited >= 0 && waited <= r.copy_ms);
    /* Two links work side by side, so the step takes at least as long as the busier one. */
    assert_true(r.step_ms >= alone / 2 * (1 - 1e-9) && r.step_ms <= alone + work + 1e-6);
    assert_true(c->link_bytes < 1e15 || waited < 0.01 * r.step_ms);
    assert_true(c->link_bytes > 1e8 || waited > 0.9 * r.step_ms);
    ms_replay_free(&r);
    b->calls->close(b);
    drop(&s);
}

/* ---- times ---- */

typedef struct time_case {
    const char *label;
    const char *field, *value; /* of the run, or NULL */
    double link_bytes, flops;  /* per second */
} time_case;

static const time_case times[] = {
    {"nothing is copied", NULL, NULL, 1e9, 1e12},
    {"offload over a fast link", "treat", "0-29=offload:1", 1e11, 1e12},
    {"offload over a link as busy as the products", "treat", "0-29=offload:1", 3e9, 1e12},
    {"offload over a slow link", "treat", "0-29=offload:0.6", 5e8, 1e13},
    {"an optimizer on the host", "optimizer-device", "host", 1e10, 1e12},
    {"micro-steps with offload", "accumulate", "5", 2e9, 1e12},
};

/* The simulation's clock at the same rates: products take their FLOPs, traffic takes no time.
 * Counted clocks are the same in every run. */
static void times_are_predicted(void **state)
{
    const time_case *c = *state;
    ms_run_setting settings[] = {
        SMALL, {"attention", "eager"}, {"treat", "0-29=offload:0.5"}, {c->field, c->value}};
    size_t count = c->field ? COUNT_OF(settings) : COUNT_OF(settings) - 2;
    if (c->field && strcmp(c->field, "accumulate") != 0)
        settings[count - 2] = settings[count - 1]; /* the same again: the last one wins */
    simulated s;
    ms_replay_result r;
    ms_error err = {0};
    simulate(settings, count, &s);
    ms_device device = *s.run.device;
    device.rates = NULL;
    device.memory_bytes_per_s = 1e30;
    device.bf16_flops = device.fp16_flops = device.fp32_flops = c->flops;
    device.host_link_bytes_per_s = device.host_memory_bytes_per_s = c->link_bytes;
    s.run.device = &device;
    const ms_job job = {.model = &s.model, .run = &s.run};
    ms_simulated_free(&s.s);
    assert_int_equal(ms_simulate(&job, MS_SIMULATE_ALL, &s.s, &err), MS_OK);
    const ms_backend_host_options options = {.capacity_bytes = GIB(60),
                                             .skips_data = true,
                                             .to_device_bytes = c->link_bytes,
                                             .to_host_bytes = c->link_bytes,
                                             .host_bytes = c->link_bytes,
                                             .product_flops = c->flops};
    ms_backend *b = open_host(&options);
    const ms_replay_options how = options_of(&s, false);
    assert_int_equal(ms_replay_run(b, &s.s.simulation.trace, &how, &r, &err), MS_OK);
    const ms_summary *told = &s.s.summary;
    double waited = r.times_ms[MS_REPLAY_WAITING];
    if (fabs(r.step_ms - told->step_time_ms) > 0.001 * told->step_time_ms ||
        fabs(waited - told->exposed_copy_ms) > 0.001 * told->step_time_ms)
        fail_msg("predicted %.4f ms, of which %.4f waiting; replayed %.4f and %.4f",
                 told->step_time_ms, told->exposed_copy_ms, r.step_ms, waited);
    ms_replay_free(&r);
    b->calls->close(b);
    drop(&s);
}

/* ---- failures ---- */

/* How many calls fail in turn: the first ones, and some of them all over the run. TRIES=all takes
 * every call. */
static uint64_t tries_of(uint64_t calls)
{
    enum { FEW = 120 };
    const char *tries = getenv("TRIES");
    return tries && strcmp(tries, "all") == 0 ? calls : FEW;
}

static void every_failing_call_is_survived(void **state)
{
    const run_case run = {"",
                          {TINY,
                           {"treat", "0-1=offload:0.7"},
                           {"parameter-device", "host"},
                           {"optimizer-device", "host"}}};
    simulated s;
    uint64_t calls = 0, tries = 0;
    (void)state;
    simulate(run.settings, COUNT_OF(run.settings), &s);
    const ms_replay_options options = options_of(&s, false);
    for (uint64_t n = 0; n <= tries; n++) {
        troubled_backend *t = open_troubled(open_host(&endless));
        ms_replay_result r;
        ms_error err = {0};
        t->fails_at =
            n <= tries / 2 || tries == calls ? n : 1 + calls * (n - tries / 2) / (tries / 2);
        if (t->fails_at > calls)
            t->fails_at = calls;
        ms_status status = ms_replay_run(&t->base, &s.s.simulation.trace, &options, &r, &err);
        /* The last call waits for everything once more, and nobody asks what it says. */
        assert_true(n == 0 ? status == MS_OK : status == MS_ERR_IO || t->fails_at + 1 >= calls);
        if (status != MS_OK)
            assert_non_null(strstr(err.text, "fails"));
        assert_all_returned(t);
        assert_true(r.before_used_bytes <= r.most_used_bytes && r.most_used_bytes < LARGE_BYTES);
        if (n == 0) {
            calls = t->calls;
            tries = tries_of(calls);
        }
        ms_replay_free(&r);
        t->base.calls->close(&t->base);
    }
    assert_true(calls > 500);
    drop(&s);
}

typedef struct full_case {
    const char *label;
    uint64_t capacity_bytes;
    const char *allocator;
} full_case;

static const full_case full[] = {
    {"full while the model is built", 100 * MIB, "cuda"},
    {"full in the first step", 600 * MIB, "cuda"},
    {"full, expandable", 600 * MIB, "cuda-expandable"},
    {"full, raw", 600 * MIB, "raw"},
};

static void a_full_device_is_survived(void **state)
{
    const full_case *c = *state;
    const run_case run = {"", {SMALL, {"allocator", c->allocator}}};
    const ms_backend_host_options options = {.capacity_bytes = c->capacity_bytes,
                                             .skips_data = true};
    simulated s;
    ms_replay_result r;
    ms_error err = {0};
    troubled_backend *t = open_troubled(open_host(&options));
    simulate(run.settings, COUNT_OF(run.settings), &s);
    const ms_replay_options how = options_of(&s, true);
    assert_int_equal(ms_replay_run(&t->base, &s.s.simulation.trace, &how, &r, &err),
                     MS_ERR_OVER_BUDGET);
    assert_non_null(strstr(err.text, "do not fit"));
    assert_true(r.played_events < r.event_count && !r.has_times);
    assert_true(r.most_used_bytes <= c->capacity_bytes &&
                r.most_used_bytes > c->capacity_bytes / 2);
    assert_all_returned(t);
    ms_replay_free(&r);
    t->base.calls->close(&t->base);
    drop(&s);
}

/* The run's own capacity: the allocator gives back and asks again, as in the simulation. */
static void a_tight_run_retries_alike(void **state)
{
    const run_case run = {"", {SMALL}};
    simulated s;
    ms_replay_result r;
    ms_usage usage;
    ms_error err = {0};
    ms_backend *b = open_host(&endless);
    (void)state;
    simulate(run.settings, COUNT_OF(run.settings), &s);
    ms_replay_options how = options_of(&s, true);
    uint64_t retries = 0;
    for (uint64_t less = 0; less < 40 && retries == 0; less++) {
        how.allocator.capacity_bytes = s.s.usage.most_reserved_bytes - less * 2 * MIB;
        assert_int_equal(ms_usage_measure(&s.s.simulation.trace, &how.allocator, &usage, &err),
                         MS_OK);
        if (!usage.out_of_memory) {
            assert_int_equal(ms_replay_run(b, &s.s.simulation.trace, &how, &r, &err), MS_OK);
            assert_int_equal(r.retries, usage.retries);
            assert_int_equal(r.peak_reserved_bytes, usage.peak_reserved_bytes);
            assert_int_equal(r.peak_bytes, usage.peak_bytes);
            retries = r.retries;
            ms_replay_free(&r);
        }
        ms_usage_free(&usage);
    }
    assert_true(retries > 0);
    b->calls->close(b);
    drop(&s);
}

static void a_stop_is_obeyed(void **state)
{
    const run_case run = {"", {TINY}};
    simulated s;
    ms_replay_result r;
    ms_error err = {0};
    ms_stop stop = 1;
    troubled_backend *t = open_troubled(open_host(&endless));
    (void)state;
    simulate(run.settings, COUNT_OF(run.settings), &s);
    ms_replay_options how = options_of(&s, false);
    how.stop = &stop;
    assert_int_equal(ms_replay_run(&t->base, &s.s.simulation.trace, &how, &r, &err),
                     MS_ERR_STOPPED);
    assert_int_equal(r.played_events, 0);
    assert_all_returned(t);
    ms_replay_free(&r);
    t->base.calls->close(&t->base);
    drop(&s);
}

static void a_stop_within_a_step_is_obeyed(void **state)
{
    const run_case run = {"", {TINY}};
    simulated s;
    ms_replay_result r;
    ms_error err = {0};
    ms_stop stop = 0;
    troubled_backend *t = open_troubled(open_host(&endless));
    (void)state;
    simulate(run.settings, COUNT_OF(run.settings), &s);
    ms_replay_options how = options_of(&s, false);
    how.stop = t->stop = &stop;
    t->stop_at = 40;
    assert_int_equal(ms_replay_run(&t->base, &s.s.simulation.trace, &how, &r, &err),
                     MS_ERR_STOPPED);
    assert_int_equal(t->products, t->stop_at);
    assert_true(r.has_steady && r.played_events < r.event_count);
    assert_all_returned(t);
    ms_replay_free(&r);
    t->base.calls->close(&t->base);
    drop(&s);
}

/* ---- what only a driver sees, and what only a first run takes ---- */

static uint64_t play_with(const simulated *s, const ms_replay_options *how, troubled_backend *t,
                          ms_replay_result *r)
{
    ms_error err = {0};
    if (ms_replay_run(&t->base, &s->s.simulation.trace, how, r, &err) != MS_OK)
        fail_msg("%s", err.text);
    assert_all_returned(t);
    ms_replay_free(r);
    uint64_t products = t->products;
    t->base.calls->close(&t->base);
    return products;
}

/* A library takes memory in the last product of all, after which nothing is reserved. */
static void what_a_library_takes_is_seen(void **state)
{
    const run_case run = {"", {TINY}};
    simulated s;
    ms_replay_result r;
    (void)state;
    simulate(run.settings, COUNT_OF(run.settings), &s);
    const ms_replay_options how = options_of(&s, false);
    uint64_t last = play_with(&s, &how, open_troubled(open_host(&endless)), &r);
    uint64_t without = r.most_used_bytes;
    troubled_backend *t = open_troubled(open_host(&endless));
    t->library_at = last;
    t->library_bytes = 64 * MIB;
    play_with(&s, &how, t, &r);
    assert_true(r.most_used_bytes > without);
    drop(&s);
}

/* Each shape ran once when the streams are first waited for, which is before the step. */
static void products_are_warm(void **state)
{
    const run_case run = {"", {TINY, {"checkpointing", "all"}}};
    simulated s;
    ms_replay_result r;
    ms_error err = {0};
    troubled_backend *t = open_troubled(open_host(&endless));
    (void)state;
    simulate(run.settings, COUNT_OF(run.settings), &s);
    const ms_replay_options how = options_of(&s, false);
    assert_int_equal(ms_replay_run(&t->base, &s.s.simulation.trace, &how, &r, &err), MS_OK);
    assert_true(t->shape_count >= 3);
    assert_int_equal(t->cold_count, 0);
    ms_replay_free(&r);
    t->base.calls->close(&t->base);
    drop(&s);
}

/* Three storages, of which the second is released while a copy may use it: in the first phase of
 * each step nothing is allocated after that, in the second something is. */
static void fill_waiting(ms_trace *trace)
{
    assert_true(ms_trace_init(trace));
    for (uint16_t step = 1; step <= 2; step++) {
        uint32_t ids[3];
        for (uint64_t i = 0; i < 3; i++) {
            const ms_storage storage = {.bytes = 1000 * (i + 1),
                                        .op = MS_NONE,
                                        .scope = MS_NONE,
                                        .name = MS_NONE,
                                        .same_as = MS_NONE};
            ids[i] = ms_trace_add_storage(trace, &storage);
        }
        ms_trace_add_mark(trace, (ms_mark){true, MS_PHASE_FORWARD, step, 0, 1});
        ms_trace_add_event(trace, MS_EVENT_ALLOC, ids[0]);
        ms_trace_add_event(trace, MS_EVENT_ALLOC, ids[1]);
        ms_trace_add_use(trace, ids[1], MS_STREAM_TO_HOST);
        ms_trace_add_event(trace, MS_EVENT_FREE, ids[1]);
        ms_trace_add_mark(trace, (ms_mark){false, MS_PHASE_FORWARD, step, 0, 1});
        ms_trace_add_mark(trace, (ms_mark){true, MS_PHASE_BACKWARD, step, 0, 1});
        ms_trace_add_event(trace, MS_EVENT_ALLOC, ids[2]);
        ms_trace_add_event(trace, MS_EVENT_FREE, ids[2]);
        ms_trace_add_event(trace, MS_EVENT_FREE, ids[0]);
        ms_trace_add_mark(trace, (ms_mark){false, MS_PHASE_BACKWARD, step, 0, 1});
    }
}

/* What waits for a stream is still requested, for PyTorch and for the simulation. */
static void waiting_blocks_are_requested(void **state)
{
    simulated s = {.arena = NULL};
    ms_error err = {0};
    (void)state;
    fill_waiting(&s.s.simulation.trace);
    for (int slow = 0; slow < 2; slow++) {
        ms_replay_result r;
        const ms_replay_options how = {
            .allocator = {.kind = MS_ALLOCATOR_CUDA, .has_slow_events = slow},
            .is_memory_only = true};
        ms_backend *b = open_host(&endless);
        assert_int_equal(ms_usage_measure(&s.s.simulation.trace, &how.allocator, &s.s.usage, &err),
                         MS_OK);
        assert_int_equal(ms_replay_run(b, &s.s.simulation.trace, &how, &r, &err), MS_OK);
        check_equal(&s, &r);
        assert_true(r.phases.items[0].end_requested_bytes == 3000);
        ms_usage_free(&s.s.usage);
        ms_replay_free(&r);
        b->calls->close(b);
    }
    ms_trace_free(&s.s.simulation.trace);
}

int main(void)
{
    struct CMUnitTest tests[COUNT_OF(runs) + COUNT_OF(tiny_runs) + COUNT_OF(links) +
                            COUNT_OF(times) + COUNT_OF(full) + 9] = {
        cmocka_unit_test(presets_are_equal),
        cmocka_unit_test(every_failing_call_is_survived),
        cmocka_unit_test(a_tight_run_retries_alike),
        cmocka_unit_test(a_stop_is_obeyed),
        cmocka_unit_test(a_stop_within_a_step_is_obeyed),
        cmocka_unit_test(what_a_library_takes_is_seen),
        cmocka_unit_test(products_are_warm),
        cmocka_unit_test(waiting_blocks_are_requested),
    };
    size_t count = 8;
    count += ADD_ROWS(tests + count, runs_are_equal, runs);
    count += ADD_ROWS(tests + count, data_is_moved, tiny_runs);
    count += ADD_ROWS(tests + count, copies_take_what_is_predicted, links);
    count += ADD_ROWS(tests + count, times_are_predicted, times);
    count += ADD_ROWS(tests + count, a_full_device_is_survived, full);
    return _cmocka_run_group_tests("replays", tests, count, NULL, NULL);
}
