/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A row says what an analysis says, though it simulates less; streams keep their order.
 */
#include <string.h>

#include "base/threads.h"
#include "decide/sweep/figures.h"
#include "unit/support.h"

/* ---- figures ---- */

typedef struct run_case {
    const char *label;
    const char *settings[12]; /* field, value, ..., NULL */
} run_case;

static const run_case runs[] = {
    {"llama", {"config", "llama-3.2-1b", "seq", "512"}},
    {"every layer checkpointed", {"config", "gpt2", "checkpointing", "all", "batch", "4"}},
    {"fp32, sgd", {"config", "qwen3-0.6b", "dtype", "fp32", "optimizer", "sgd"}},
    {"accumulation and clipping", {"config", "gpt2", "accumulate", "6", "clip", "1"}},
    {"autocast", {"config", "gpt2", "dtype", "fp32", "autocast", "bf16"}},
    {"offload", {"config", "gpt2", "treat", "0-5=offload:0.5,6-9=checkpoint"}},
    {"optimizer on the host", {"config", "llama-3.2-1b", "optimizer-device", "host"}},
    {"LoRA on nf4", {"config", "llama-3.2-1b", "lora", "r=8", "quantize", "nf4"}},
    {"no room", {"config", "llama-3.1-8b", "seq", "4096", "device", "rtx-4090"}},
    {"expandable segments", {"config", "gpt2", "allocator", "cuda-expandable"}},
    {"cpu", {"config", "gpt2", "device", "cpu", "dtype", "fp32"}},
    {"cache emptied", {"config", "gpt2", "accumulate", "4", "empty-cache-steps", "2"}},
    {"evaluation", {"config", "gpt2", "eval-batch", "8"}},
    {"mixture of experts", {"config", "mixtral-8x7b", "experts", "grouped", "seq", "128"}},
};

static void check_figures(void **state)
{
    const run_case *c = *state;
    ms_error err = {.status = MS_OK};
    ms_run_setting settings[6];
    uint32_t count = 0;
    ms_run *run = ms_run_create();
    ms_arena *arena = ms_arena_create(0);
    for (size_t i = 0; i + 1 < COUNT_OF(c->settings) && c->settings[i]; i += 2) {
        settings[count++] = (ms_run_setting){c->settings[i], c->settings[i + 1]};
        assert_int_equal(ms_run_set(run, c->settings[i], c->settings[i + 1], &err), MS_OK);
    }
    ms_analysis *analysis = ms_analyze(run, &err);
    assert_non_null(analysis);
    const ms_summary *a = ms_analysis_summary(analysis);
    const ms_point point = {.settings = settings};
    ms_figures figures;
    assert_int_equal(ms_figures_find(arena, &point, count, &(ms_question){NULL, 0}, &figures, &err),
                     MS_OK);
    const ms_summary *b = &figures.summary;
    const uint64_t pairs[][2] = {
        {a->param_count, b->param_count},
        {a->trainable_param_count, b->trainable_param_count},
        {a->weight_memory_bytes, b->weight_memory_bytes},
        {a->buffer_memory_bytes, b->buffer_memory_bytes},
        {a->grad_memory_bytes, b->grad_memory_bytes},
        {a->optimizer_memory_bytes, b->optimizer_memory_bytes},
        {a->activation_memory_bytes, b->activation_memory_bytes},
        {a->temporary_memory_bytes, b->temporary_memory_bytes},
        {a->saved_bytes, b->saved_bytes},
        {a->peak_memory_bytes, b->peak_memory_bytes},
        {a->reserved_memory_bytes, b->reserved_memory_bytes},
        {a->low_device_bytes, b->low_device_bytes},
        {a->expected_device_bytes, b->expected_device_bytes},
        {a->high_device_bytes, b->high_device_bytes},
        {a->host_memory_bytes, b->host_memory_bytes},
        {a->budget_bytes, b->budget_bytes},
        {a->fits, b->fits},
        {a->verdict, b->verdict},
        {a->verdict_reason, b->verdict_reason},
        {(uint64_t)a->headroom_bytes, (uint64_t)b->headroom_bytes},
    };
    for (size_t i = 0; i < COUNT_OF(pairs); i++)
        assert_int_equal(pairs[i][0], pairs[i][1]);
    assert_string_equal(a->peak_stage, b->peak_stage);
    assert_true(a->step_time_ms == b->step_time_ms);
    ms_analysis_free(analysis);
    ms_run_free(run);
    ms_arena_free(arena);
}

/* ---- streams ---- */

typedef struct stream_case {
    const char *label;
    uint32_t threads, slots, count, stop_after;
} stream_case;

static const stream_case streams[] = {
    {"one thread", 1, 1, 100, 100},     {"two threads", 2, 8, 1000, 1000},
    {"many threads", 16, 64, 500, 500}, {"fewer slots than threads", 8, 2, 300, 300},
    {"nothing", 4, 16, 0, 0},           {"stopped", 4, 16, 1000, 40},
};

typedef struct stream {
    const stream_case *c;
    uint32_t taken, delivered, slots[64];
    bool is_in_order;
} stream;

static bool take(void *context, uint32_t slot)
{
    stream *s = context;
    if (s->taken == s->c->count)
        return false;
    s->slots[slot] = s->taken++;
    return true;
}

static void work(void *context, uint32_t slot)
{
    stream *s = context;
    volatile uint32_t sum = 0;
    for (uint32_t i = 0; i < s->slots[slot] % 7 * 1000; i++)
        sum = sum + i;
    s->slots[slot] *= 3;
}

static bool deliver(void *context, uint32_t slot)
{
    stream *s = context;
    s->is_in_order = s->is_in_order && s->slots[slot] == 3 * s->delivered;
    return ++s->delivered < s->c->stop_after;
}

static void check_stream(void **state)
{
    const stream_case *c = *state;
    stream s = {.c = c, .is_in_order = true};
    ms_ordered_run(&(ms_ordered){c->threads, c->slots, take, work, deliver, &s});
    assert_true(s.is_in_order);
    assert_int_equal(s.delivered, c->stop_after);
    assert_true(s.taken - s.delivered <= c->slots);
}

int main(void)
{
    struct CMUnitTest tests[COUNT_OF(runs) + COUNT_OF(streams)];
    size_t count = ADD_ROWS(tests, check_figures, runs);
    count += ADD_ROWS(tests + count, check_stream, streams);
    return _cmocka_run_group_tests("sweep", tests, count, NULL, NULL);
}
