/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Offload by ratio and tag: what a rule of its own picks is what goes; a replay allocates, reserves
 * and keeps on the host what the simulation says, to the byte, in its time; what comes back is what
 * went; every failing call is survived.
 */
#include <math.h>

#include "base/locale.h"
#include "run/measure/schedule.h"
#include "hardware/replay/host_copies.h"
#include "hardware/replay/host_memory.h"
#include "torch/treatments/offload.h"
#include "unit/replays.h"

#define LARGE_BYTES (UINT64_C(1) << 33) /* valgrind has few addresses */
#define ROOM_BYTES (UINT64_C(256) << 20)
static const ms_backend_host_options endless = {.capacity_bytes = LARGE_BYTES, .skips_data = true};

#define SMALL                                                                                      \
    {"config", "tests/unit/replay/deep.json"}, {"batch", "2"}, {"seq", "128"}, {"device", "t4"},   \
    {                                                                                              \
        "attention", "eager"                                                                       \
    }
#define TINY                                                                                       \
    {"config", "tests/unit/replay/llama.json"}, {"batch", "2"},                                    \
    {                                                                                              \
        "seq", "64"                                                                                \
    }

/* ---- the rule ---- */

typedef struct share_case {
    const char *label;
    double ratio;
    uint64_t bytes[6];         /* saved in each pass, up to a 0 */
    const char *first, *later; /* what goes: '1', or stays: '0' */
} share_case;

static const share_case shares[] = {
    {"nothing", 0, {5, 5, 5}, "000", "000"},
    {"everything", 1, {5, 7, 9}, "111", "111"},
    {"half, in equal parts", 0.5, {4, 4, 4, 4}, "0101", "1100"},
    {"half, the first too large", 0.5, {9, 1, 1, 1}, "0111", "0111"},
    {"a small one fits after a large one", 0.5, {3, 5, 1, 1}, "0011", "1011"},
    {"exactly the ratio", 0.25, {1, 1, 1, 1}, "0001", "1000"},
};

static void check_pass(ms_offload_share *share, const share_case *c, const char *expected)
{
    uint64_t sent = 0, all = 0;
    for (int i = 0; c->bytes[i]; i++) {
        all += c->bytes[i];
        assert_int_equal(ms_offload_share_takes(share, c->bytes[i]), expected[i] == '1');
        sent += expected[i] == '1' ? c->bytes[i] : 0;
    }
    ms_offload_share_end_pass(share);
    assert_int_equal(share->total_bytes, all);
    assert_int_equal(share->last_sent_bytes, sent);
}

static void shares_are_kept(void **state)
{
    const share_case *c = *state;
    ms_offload_share share = {.ratio = c->ratio};
    check_pass(&share, c, c->first);
    for (int i = 0; i < 3; i++) {
        check_pass(&share, c, c->later);
        ms_offload_share_end_pass(&share); /* an evaluation changes nothing */
    }
}

/* ---- texts ---- */

typedef struct ratio_case {
    const char *label, *text;
    uint32_t count; /* 0: refused */
    double first, last;
} ratio_case;

static const ratio_case ratios[] = {
    {"one", "0.5", 1, 0.5, 0.5},
    {"tenths", "0:1:0.1", 11, 0, 1},
    {"thirds", "0:1:0.33", 4, 0, 0.99},
    {"hundredths", "0:1:0.01", 101, 0, 1},
    {"from and to", "0.2:0.2:1", 1, 0.2, 0.2},
    {"too many", "0:1:0.001", 0, 0, 0},
    {"above 1", "0:1.1:0.1", 0, 0, 0},
    {"negative", "-0.1", 0, 0, 0},
    {"falling", "1:0:0.1", 0, 0, 0},
    {"no step", "0:1:0", 0, 0, 0},
    {"two parts", "0:1", 0, 0, 0},
    {"four parts", "0:1:0.1:1", 0, 0, 0},
    {"a word", "half", 0, 0, 0},
    {"nothing", "", 0, 0, 0},
    {"not a number", "nan", 0, 0, 0},
    {"a colon", ":", 0, 0, 0},
};

static void ratios_are_read(void **state)
{
    const ratio_case *c = *state;
    double found[MS_MOST_OFFLOAD_RATIOS];
    uint32_t count = 0;
    ms_error err = {0};
    ms_status status = ms_offload_ratios_read(c->text, found, &count, &err);
    assert_int_equal(status, c->count ? MS_OK : MS_ERR_USAGE);
    assert_true(c->count || strstr(err.text, "--offload-ratio"));
    if (!c->count)
        return;
    assert_int_equal(count, c->count);
    assert_true(fabs(found[0] - c->first) < 1e-12 && fabs(found[count - 1] - c->last) < 1e-12);
}

typedef struct tag_case {
    const char *label, *text;
    bool is_refused, has_ratio;
    ms_offload_part part;
    uint32_t layers; /* of 12; 0: all */
} tag_case;

static const tag_case tag_texts[] = {
    {"all", "all", false, false, MS_OFFLOAD_ALL, 0},
    {"with a ratio", "mlp=0.5", false, true, MS_OFFLOAD_MLP, 0},
    {"layers", "0-3=1", false, true, MS_OFFLOAD_ALL, 4},
    {"the first layers", "first:7", false, false, MS_OFFLOAD_ALL, 7},
    {"a layer that is not there", "12", true, false, MS_OFFLOAD_ALL, 0},
    {"an unknown word", "weights=1", true, false, MS_OFFLOAD_ALL, 0},
    {"no word", "=1", true, false, MS_OFFLOAD_ALL, 0},
    {"no ratio behind the sign", "mlp=", true, false, MS_OFFLOAD_ALL, 0},
    {"a ratio above 1", "mlp=2", true, false, MS_OFFLOAD_ALL, 0},
};

static void tags_are_read(void **state)
{
    const tag_case *c = *state;
    enum { LAYERS = 12 };
    ms_arena *arena = ms_arena_create(0);
    ms_offload_tag tag;
    ms_error err = {0};
    uint32_t layers = 0;
    ms_status status = ms_offload_tag_read(c->text, arena, LAYERS, &tag, &err);
    assert_int_equal(status != MS_OK, c->is_refused);
    assert_int_equal(*err.text != '\0', c->is_refused);
    if (!c->is_refused) {
        for (int i = 0; tag.layers && i < LAYERS; i++)
            layers += tag.layers[i];
        assert_int_equal(tag.part, c->part);
        assert_int_equal(tag.has_ratio, c->has_ratio);
        assert_int_equal(layers, c->layers);
    }
    ms_arena_free(arena);
}

typedef struct part_case {
    const char *module;
    ms_offload_part part;
} part_case;

static const part_case parts[] = {
    {"self_attn", MS_OFFLOAD_ATTENTION},
    {"linear_attn", MS_OFFLOAD_ATTENTION},
    {"attn", MS_OFFLOAD_ATTENTION},
    {"self_attention", MS_OFFLOAD_ATTENTION},
    {"mlp", MS_OFFLOAD_MLP},
    {"feed_forward", MS_OFFLOAD_MLP},
    {"shared_mlp", MS_OFFLOAD_MLP},
    {"fc1", MS_OFFLOAD_MLP},
    {"self_attn_layer_norm", MS_OFFLOAD_NORMS},
    {"ln_mlp", MS_OFFLOAD_NORMS},
    {"post_feedforward_layernorm", MS_OFFLOAD_NORMS},
    {"conv", MS_OFFLOAD_OTHER},
};

static void modules_have_parts(void **state)
{
    const part_case *c = *state;
    assert_int_equal(ms_offload_part_of(c->module), c->part);
}

/* ---- what goes ---- */

typedef struct sent_copies {
    ms_vec(uint64_t) bytes;
    uint64_t sum;
} sent_copies;

/* The copies to the host in the steady step, in order. */
static sent_copies list_sent(const ms_simulated *s)
{
    sent_copies sent = {0};
    const ms_trace *trace = &s->simulation.trace;
    for (uint32_t i = s->usage.steady_first_event; i < s->usage.steady_end_event; i++) {
        const ms_event e = trace->events.items[i];
        if (e.kind != MS_EVENT_WORK || trace->works.items[e.id].kind != MS_WORK_TO_HOST)
            continue;
        uint64_t bytes = trace->works.items[e.id].bytes;
        assert_true(ms_vec_push(&sent.bytes, bytes));
        sent.sum += bytes;
    }
    return sent;
}

static uint64_t most_sent(const simulated *s, uint32_t tags)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < tags; i++)
        sum += s->s.simulation.offloaded[i].sent_bytes;
    return sum;
}

typedef struct pick_case {
    const char *label;
    const char *tag; /* alone, and of ratio 1 to learn what there is */
    double ratio;
} pick_case;

static const pick_case picks[] = {
    {"all, a tenth", "all", 0.1},    {"all, half", "all", 0.5},
    {"all but little", "all", 0.95}, {"attention, half", "attention", 0.5},
    {"mlp, a third", "mlp", 0.333},  {"norms, two thirds", "norms", 0.667},
    {"layers, half", "2-4", 0.5},
};

/* Everything of a tag is known from the ratio 1; what goes at another ratio follows. */
static void the_first_that_fit_go(void **state)
{
    const pick_case *c = *state;
    const ms_run_setting settings[] = {SMALL};
    char whole[32], part[32];
    simulated all, some;
    snprintf(whole, sizeof whole, "%s=1", c->tag);
    ms_text_print(part, sizeof part, "%s=%g", c->tag, c->ratio);
    simulate_tagged(settings, COUNT_OF(settings), (const char *const[]){whole, NULL}, &all);
    simulate_tagged(settings, COUNT_OF(settings), (const char *const[]){part, NULL}, &some);
    sent_copies there = list_sent(&all.s), gone = list_sent(&some.s);
    uint64_t sent = 0;
    uint32_t count = 0;
    assert_true(there.sum > 0 && there.sum == all.s.simulation.offloaded[0].total_bytes);
    assert_int_equal(some.s.simulation.offloaded[0].total_bytes, there.sum);
    for (uint32_t i = 0; i < there.bytes.count; i++)
        if ((double)(sent + there.bytes.items[i]) / (double)there.sum <= c->ratio) {
            assert_true(count < gone.bytes.count);
            assert_int_equal(gone.bytes.items[count++], there.bytes.items[i]);
            sent += there.bytes.items[i];
        }
    assert_int_equal(count, gone.bytes.count);
    assert_int_equal(sent, some.s.simulation.offloaded[0].sent_bytes);
    assert_true(strcmp(c->tag, "all") != 0 || some.s.usage.peak_bytes >= all.s.usage.peak_bytes);
    ms_vec_free(&there.bytes);
    ms_vec_free(&gone.bytes);
    drop(&all);
    drop(&some);
}

typedef struct tags_case {
    const char *label;
    const char *tags[5];
    uint32_t empty; /* tags without tensors, a bit each */
} tags_case;

static const tags_case tag_sets[] = {
    {"none goes", {"all=0"}, 0},
    {"two with ratios of their own", {"attention=0.5", "mlp=1"}, 0},
    {"three parts", {"attention=1", "mlp=1", "norms=1"}, 0},
    {"the last one counts", {"mlp=1", "all=0.5"}, 1},
    {"the last layer keeps what it saves", {"7=1", "all=0"}, 1},
    {"no layers", {"none=1", "0-2=0.5"}, 1},
};

static void tags_share_what_is_saved(void **state)
{
    const tags_case *c = *state;
    const ms_run_setting settings[] = {SMALL};
    simulated s, whole;
    uint32_t count = 0;
    uint64_t total = 0;
    simulate_tagged(settings, COUNT_OF(settings), c->tags, &s);
    simulate_tagged(settings, COUNT_OF(settings), (const char *const[]){"all=1", NULL}, &whole);
    for (; c->tags[count]; count++) {
        const ms_offload_bytes *b = &s.s.simulation.offloaded[count];
        double ratio = s.run.offload_tags.items[count].ratio;
        assert_int_equal(b->total_bytes == 0, c->empty >> count & 1);
        assert_true((double)b->sent_bytes <= ratio * (double)b->total_bytes);
        assert_true(ratio < 1 || b->sent_bytes == b->total_bytes);
        total += b->total_bytes;
    }
    assert_true(total <= whole.s.simulation.offloaded[0].total_bytes);
    sent_copies sent = list_sent(&s.s);
    assert_int_equal(sent.sum, most_sent(&s, count));
    ms_vec_free(&sent.bytes);
    drop(&whole);
    drop(&s);
}

/* ---- executed ---- */

typedef struct run_at {
    const char *label;
    const char *tags[4];
    ms_run_setting more; /* or a field of NULL */
    double link_bytes;   /* per second */
} run_at;

static const run_at executed[] = {
    {"0", {"all=0"}, {NULL, NULL}, 2e8},
    {"0.25", {"all=0.25"}, {NULL, NULL}, 2e8},
    {"0.5", {"all=0.5"}, {NULL, NULL}, 2e8},
    {"0.75", {"all=0.75"}, {NULL, NULL}, 2e8},
    {"1", {"all=1"}, {NULL, NULL}, 2e8},
    {"0.5 over a slow link", {"all=0.5"}, {NULL, NULL}, 2e7},
    {"1 over a fast link", {"all=1"}, {NULL, NULL}, 1e12},
    {"two tags, expandable", {"attention=0.5", "mlp=1"}, {"allocator", "cuda-expandable"}, 2e8},
    {"micro-steps", {"all=0.6"}, {"accumulate", "5"}, 2e8},
    {"some layers are checkpoints", {"all=0.6"}, {"checkpointing", "first:3"}, 2e8},
    {"an optimizer on the host", {"all=0.6"}, {"optimizer-device", "host"}, 2e8},
};

static double tolerance = 0.005;

static void check_time(const char *name, double predicted, double replayed, double step_ms)
{
    if (fabs(predicted - replayed) > tolerance * step_ms)
        fail_msg("%s: predicted %.4f ms, replayed %.4f", name, predicted, replayed);
    else if (getenv("TIMED"))
        printf("%s: predicted %.4f ms, replayed %.4f\n", name, predicted, replayed);
}

/* At the same rates. */
static void check_at(const ms_run_setting *settings, size_t room, const run_at *c, double flops,
                     bool moves_data)
{
    simulated s;
    ms_replay_result r;
    ms_error err = {0};
    uint64_t host_bytes;
    double busy_ms;
    simulate_tagged(settings, room, c->tags, &s);
    ms_device device = *s.run.device;
    device.rates = NULL;
    device.memory_bytes_per_s = 1e30;
    device.bf16_flops = device.fp16_flops = device.fp32_flops = flops;
    device.host_link_bytes_per_s = device.host_memory_bytes_per_s = c->link_bytes;
    s.run.device = &device;
    const ms_job job = {.model = &s.model, .run = &s.run};
    ms_simulated_free(&s.s);
    assert_int_equal(ms_simulate(&job, MS_SIMULATE_ALL, &s.s, &err), MS_OK);
    const ms_trace *trace = &s.s.simulation.trace;
    assert_int_equal(ms_host_copies_count(trace, &host_bytes, &err), MS_OK);
    assert_int_equal(ms_link_use_measure(trace, &s.s.usage, &device, &busy_ms, &err), MS_OK);
    troubled_backend *t = open_troubled(open_host(
        &(ms_backend_host_options){.capacity_bytes = moves_data ? ROOM_BYTES : LARGE_BYTES,
                                   .skips_data = !moves_data,
                                   .to_device_bytes = c->link_bytes,
                                   .to_host_bytes = c->link_bytes,
                                   .host_bytes = c->link_bytes,
                                   .product_flops = flops}));
    ms_replay_options how = options_of(&s, false);
    how.keeps_host_copies = true;
    if (ms_replay_run(&t->base, trace, &how, &r, &err) != MS_OK)
        fail_msg("%s", err.text);
    check_equal(&s, &r);
    assert_int_equal(r.host_copy_bytes, host_bytes);
    assert_int_equal(host_bytes == 0, strcmp(c->tags[0], "all=0") == 0);
    check_time("step", s.s.summary.step_time_ms, r.step_ms, r.step_ms);
    check_time("waiting", s.s.summary.exposed_copy_ms, r.times_ms[MS_REPLAY_WAITING], r.step_ms);
    check_time("link", busy_ms, r.link_busy_ms, r.step_ms);
    assert_all_returned(t);
    ms_replay_free(&r);
    t->base.calls->close(&t->base);
    drop(&s);
}

/* Counted clocks are the same in every run. */
static void replays_are_predicted(void **state)
{
    const run_at *c = *state;
    const ms_run_setting settings[] = {SMALL, c->more};
    check_at(settings, COUNT_OF(settings), c, 1e10, false);
}

static const run_at timed[] = {
    {"0, by the clock", {"all=0"}, {NULL, NULL}, 4e5},
    {"0.3, by the clock", {"all=0.3"}, {NULL, NULL}, 4e5},
    {"0.6, by the clock", {"all=0.6"}, {NULL, NULL}, 4e5},
    {"1, by the clock", {"all=1"}, {NULL, NULL}, 4e5},
    {"1, over a faster link, by the clock", {"all=1"}, {NULL, NULL}, 2e6},
};

/* With data, sleeping: only where TIMED is set, as a loaded machine is late. */
static void times_hold(void **state)
{
    const ms_run_setting settings[] = {TINY, {"attention", "eager"}};
    if (!getenv("TIMED"))
        skip();
    tolerance = 0.05;
    check_at(settings, COUNT_OF(settings), *state, 1e7, true);
    tolerance = 0.005;
}

/* The host's buffers are as large as what is there at one time, and are used again. */
static void buffers_are_used_again(void **state)
{
    const ms_run_setting settings[] = {SMALL};
    simulated s;
    ms_error err = {0};
    uint64_t host_bytes, sent = 0;
    (void)state;
    for (int i = 1; i <= 4; i++) {
        char tag[32];
        ms_text_print(tag, sizeof tag, "all=%g", 0.25 * i);
        simulate_tagged(settings, COUNT_OF(settings), (const char *const[]){tag, NULL}, &s);
        sent = s.s.simulation.offloaded[0].sent_bytes;
        assert_int_equal(ms_host_copies_count(&s.s.simulation.trace, &host_bytes, &err), MS_OK);
        assert_true(host_bytes >= sent && host_bytes < sent + sent / 8);
        drop(&s);
    }
}

/* ---- contents ---- */

enum { MOST_BUFFERS = 256 };
static struct filled {
    uint64_t host, bytes;
    uint8_t first;
} filled[MOST_BUFFERS];
static size_t filled_count;
static uint8_t next_first;
static uint32_t compared;

static void fill(uint64_t address, uint64_t bytes, uint8_t first)
{
    uint8_t *data = ms_replay_pointer(address);
    for (uint64_t i = 0; i < bytes; i++)
        data[i] = (uint8_t)(first + i * 7);
}

static void compare(uint64_t address, uint64_t bytes, uint8_t first)
{
    const uint8_t *data = ms_replay_pointer(address);
    for (uint64_t i = 0; i < bytes; i++)
        assert_int_equal(data[i], (uint8_t)(first + i * 7));
    compared++;
}

static struct filled *buffer_at(uint64_t host)
{
    for (size_t i = 0; i < filled_count; i++)
        if (filled[i].host == host)
            return &filled[i];
    assert_true(filled_count < MOST_BUFFERS);
    filled[filled_count].host = host;
    return &filled[filled_count++];
}

/* What goes is written just before, and compared when it is back. */
static ms_status watched_copy(ms_backend *b, ms_backend_stream *stream, ms_copy_kind kind,
                              uint64_t to, uint64_t from, uint64_t bytes, ms_error *err)
{
    ms_backend *inner = inner_of(b);
    assert_int_equal(inner->calls->synchronize(inner, NULL, err), MS_OK);
    struct filled *f = buffer_at(kind == MS_COPY_TO_HOST ? to : from);
    if (kind == MS_COPY_TO_HOST) {
        *f = (struct filled){to, bytes, next_first++};
        fill(from, bytes, f->first);
    }
    ms_status status = inner->calls->copy(inner, stream, kind, to, from, bytes, err);
    assert_int_equal(inner->calls->synchronize(inner, NULL, err), MS_OK);
    if (kind == MS_COPY_TO_DEVICE) {
        assert_int_equal(f->bytes, bytes);
        compare(to, bytes, f->first);
    }
    return status;
}

static void what_comes_back_is_what_went(void **state)
{
    const ms_run_setting settings[] = {TINY, {"accumulate", "3"}};
    const ms_backend_host_options options = {.capacity_bytes = UINT64_C(256) << 20,
                                             .has_no_blas = true};
    ms_backend_calls calls = troubled_calls;
    simulated s;
    ms_replay_result r;
    ms_error err = {0};
    (void)state;
    calls.copy = watched_copy;
    simulate_tagged(settings, COUNT_OF(settings), (const char *const[]){"all=0.8", NULL}, &s);
    troubled_backend *t = open_troubled(open_host(&options));
    t->base.calls = &calls;
    ms_replay_options how = options_of(&s, false);
    how.keeps_host_copies = true;
    if (ms_replay_run(&t->base, &s.s.simulation.trace, &how, &r, &err) != MS_OK)
        fail_msg("%s", err.text);
    check_equal(&s, &r);
    assert_true(compared >= 10 && 2 * compared == r.copies);
    assert_all_returned(t);
    ms_replay_free(&r);
    t->base.calls->close(&t->base);
    drop(&s);
}

/* ---- failures ---- */

static void every_failing_call_is_survived(void **state)
{
    enum { FEW = 100 };
    const ms_run_setting settings[] = {TINY};
    const char *all = getenv("TRIES");
    uint64_t calls = 0, tries = 0;
    simulated s;
    (void)state;
    simulate_tagged(settings, COUNT_OF(settings), (const char *const[]){"all=0.8", NULL}, &s);
    ms_replay_options how = options_of(&s, false);
    how.keeps_host_copies = true;
    for (uint64_t n = 0; n <= tries; n++) {
        troubled_backend *t = open_troubled(open_host(&endless));
        ms_replay_result r;
        ms_error err = {0};
        t->fails_at = n == 0 || tries == calls ? n : 1 + (calls - 1) * (n - 1) / (tries - 1);
        ms_status status = ms_replay_run(&t->base, &s.s.simulation.trace, &how, &r, &err);
        /* The last call waits for everything once more, and nobody asks what it says. */
        assert_true(n == 0 ? status == MS_OK : status == MS_ERR_IO || t->fails_at + 1 >= calls);
        assert_true(status == MS_OK || strstr(err.text, "fails"));
        assert_all_returned(t);
        if (n == 0) {
            calls = t->calls;
            tries = all && strcmp(all, "all") == 0 ? calls : FEW;
        }
        ms_replay_free(&r);
        t->base.calls->close(&t->base);
    }
    assert_true(calls > 500);
    drop(&s);
}

int main(void)
{
    struct CMUnitTest tests[128] = {cmocka_unit_test(buffers_are_used_again),
                                    cmocka_unit_test(what_comes_back_is_what_went),
                                    cmocka_unit_test(every_failing_call_is_survived)};
    size_t count = 3;
    count += ADD_ROWS(tests + count, shares_are_kept, shares);
    count += ADD_ROWS(tests + count, ratios_are_read, ratios);
    count += ADD_ROWS(tests + count, tags_are_read, tag_texts);
    count += ADD_ROWS(tests + count, modules_have_parts, parts);
    count += ADD_ROWS(tests + count, the_first_that_fit_go, picks);
    count += ADD_ROWS(tests + count, tags_share_what_is_saved, tag_sets);
    count += ADD_ROWS(tests + count, replays_are_predicted, executed);
    count += ADD_ROWS(tests + count, times_hold, timed);
    return _cmocka_run_group_tests("offload by ratio and tag", tests, count, NULL, NULL);
}
