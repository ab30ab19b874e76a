/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/device/rates.h"
#include "run/measure/playback.h"
#include "run/measure/profile.h"
#include "core/trace/build.h"

#include "unit/support.h"

typedef struct clock_case {
    const char *label;
    ms_device device;
    ms_op_exec op;
    double expected_ms;
} clock_case;

/* A product of 2e12 FLOPs and 2e9 bytes takes 10 ms / 0.5 + 1 ms * 0.4; attention the same with its
 * own shares; 2e9 bytes of anything else 1 ms / 0.8; each kernel 10 us more. */
static const ms_rates reached = {{[MS_RATE_PRODUCT_SHARE] = {.value = 0.5},
                                  [MS_RATE_PRODUCT_TRAFFIC] = {.value = 0.4},
                                  [MS_RATE_ATTENTION_FORWARD_SHARE] = {.value = 0.4},
                                  [MS_RATE_ATTENTION_BACKWARD_SHARE] = {.value = 0.25},
                                  [MS_RATE_ATTENTION_TRAFFIC] = {.value = 2},
                                  [MS_RATE_MEMORY_SHARE] = {.value = 0.8},
                                  [MS_RATE_KERNEL_US] = {.value = 10},
                                  [MS_RATE_STEP_SHARE] = {.value = 1}}};
static const ms_rates slow_step = {
    {[MS_RATE_MEMORY_SHARE] = {.value = 1}, [MS_RATE_STEP_SHARE] = {.value = 0.5}}};
#define WORK .flops = 2000000000000, .traffic_bytes = 2000000000, .matmul_dtype = MS_DTYPE_BF16

#define RATES .bf16_flops = 200e12, .fp32_flops = 20e12, .memory_bytes_per_s = 2e12

static const clock_case cases[] = {
    {"bound by arithmetic",
     {RATES},
     {.name = "mm",
      .flops = 2000000000000,
      .traffic_bytes = 2000000000,
      .matmul_dtype = MS_DTYPE_BF16},
     10},
    {"bound by memory",
     {RATES},
     {.name = "mm", .flops = 1000000, .traffic_bytes = 2000000000, .matmul_dtype = MS_DTYPE_BF16},
     1},
    {"fp32 is slower",
     {RATES},
     {.name = "mm",
      .flops = 2000000000000,
      .traffic_bytes = 2000000000,
      .matmul_dtype = MS_DTYPE_F32},
     100},
    {"no half-precision rate",
     {.fp32_flops = 20e12, .memory_bytes_per_s = 2e12},
     {.name = "mm", .flops = 2000000000000, .matmul_dtype = MS_DTYPE_F16},
     100},
    {"products that reach half of it",
     {RATES, .slowdown = {[MS_OP_PRODUCT] = 2, [MS_OP_ATTENTION] = 3}},
     {.name = "MmBackward0", .flops = 2000000000000, .matmul_dtype = MS_DTYPE_BF16},
     20},
    {"attention that reaches a third",
     {RATES, .slowdown = {[MS_OP_PRODUCT] = 2, [MS_OP_ATTENTION] = 3}},
     {.name = "flash_attention", .flops = 2000000000000, .matmul_dtype = MS_DTYPE_BF16},
     30},
    {"traffic slowed down",
     {RATES, .slowdown = {[MS_OP_OTHER] = 1.5}},
     {.name = "add", .traffic_bytes = 2000000000},
     1.5},
    {"no bandwidth",
     {.bf16_flops = 200e12, .fp32_flops = 20e12},
     {.name = "mm", .flops = 2000000000000, .matmul_dtype = MS_DTYPE_BF16},
     0},
    {"a product at reached rates", {RATES, .rates = &reached}, {.name = "mm", WORK}, 20.41},
    {"two products at reached rates",
     {RATES, .rates = &reached},
     {.name = "mm.backward", .product_count = 2, WORK},
     20.42},
    {"a product that moves much",
     {RATES, .rates = &reached},
     {.name = "mm", .flops = 1, .traffic_bytes = 2000000000, .matmul_dtype = MS_DTYPE_BF16},
     1.26},
    {"attention at reached rates",
     {RATES, .rates = &reached},
     {.name = "flash_attention", WORK},
     27.01},
    {"attention backward at reached rates",
     {RATES, .rates = &reached},
     {.name = "flash_attention.backward", .pass = MS_PASS_BACKWARD, WORK},
     42.01},
    {"another operator at reached rates",
     {RATES, .rates = &reached},
     {.name = "add", .traffic_bytes = 2000000000},
     1.26},
    {"another operator in a step that has half",
     {RATES, .rates = &slow_step},
     {.name = "add", .traffic_bytes = 2000000000},
     2},
    {"nothing moved takes no kernel", {RATES, .rates = &reached}, {.name = "view"}, 0},
    {"a calibration before reached rates",
     {RATES, .rates = &reached, .slowdown = {[MS_OP_PRODUCT] = 2}},
     {.name = "mm", WORK},
     20},
    {"an MFU before reached rates",
     {RATES, .rates = &reached, .mfu = 0.25},
     {.name = "mm", WORK},
     40},
    {"an MFU leaves others as they are",
     {RATES, .rates = &reached, .mfu = 0.25},
     {.name = "add", .traffic_bytes = 2000000000},
     1.26},
    {"no rates at all", {0}, {.name = "mm", .flops = 2000000000000, .traffic_bytes = 1}, 0},
};

static void check_case(void **state)
{
    const clock_case *c = *state;
    assert_float_equal((float)ms_clock_op_ms(&c->device, &c->op), (float)c->expected_ms, 1e-4f);
    ms_trace trace;
    assert_true(ms_trace_init(&trace));
    /* Micro-steps that stand for 1, 2 and 3. */
    for (uint32_t i = 0; i < 3; i++) {
        ms_mark mark = {.begin = true, .step = 1, .micro_step = i, .repeats = i + 1};
        assert_true(ms_vec_push(&trace.ops, c->op));
        assert_true(ms_vec_push(&trace.marks, mark));
        assert_true(ms_vec_push(&trace.events, (ms_event){MS_EVENT_MARK, i}));
        assert_true(ms_vec_push(&trace.events, (ms_event){MS_EVENT_OP_BEGIN, i}));
        assert_true(ms_vec_push(&trace.events, (ms_event){MS_EVENT_OP_END, i}));
    }
    ms_profile profile;
    ms_error err = {0};
    assert_int_equal(ms_profile_build(&trace, &c->device, MS_ALLOCATOR_RAW, &profile, &err), MS_OK);
    assert_float_equal((float)profile.time.step_ms, (float)(6 * c->expected_ms), 1e-3f);
    ms_profile_free(&profile);
    ms_trace_free(&trace);
}

static ms_work work(ms_work_kind kind, uint32_t stream, uint64_t bytes)
{
    return (ms_work){.kind = (uint8_t)kind,
                     .stream = stream,
                     .source = MS_NONE,
                     .target = MS_NONE,
                     .group = MS_NONE,
                     .after = MS_NONE,
                     .layer = MS_NONE,
                     .bytes = bytes};
}

/* Of a step that does nothing else; a wait's number is that of the work. */
static ms_step_time time_of(const ms_device *device, const ms_work *works, size_t work_count,
                            const ms_event *events, size_t event_count)
{
    ms_trace trace;
    ms_profile profile;
    ms_error err = {0};
    ms_mark mark = {.begin = true, .phase = MS_PHASE_OPTIMIZER, .step = 1, .repeats = 1};
    assert_true(ms_trace_init(&trace) && ms_vec_push(&trace.marks, mark));
    for (size_t i = 0; i < work_count; i++)
        assert_true(ms_vec_push(&trace.works, works[i]));
    for (size_t i = 0; i < event_count; i++)
        if (events[i].kind == MS_EVENT_WAIT)
            assert_true(ms_trace_add_wait(&trace, MS_STREAM_OPERATORS, events[i].id) != MS_NONE);
        else
            assert_true(ms_vec_push(&trace.events, events[i]));
    assert_int_equal(ms_profile_build(&trace, device, MS_ALLOCATOR_RAW, &profile, &err), MS_OK);
    const ms_step_time time = profile.time;
    ms_profile_free(&profile);
    ms_trace_free(&trace);
    return time;
}

/* Two gradients go, are updated, and come back: 1 ms each way, 3 ms on the host. */
static void updates_on_the_host_overlap_copies(void **state)
{
    (void)state;
    const ms_device device = {.host_link_bytes_per_s = 1e9, .host_memory_bytes_per_s = 2e9};
    const ms_work out = work(MS_WORK_TO_HOST, MS_STREAM_TO_HOST, 1000000);
    const ms_work update = work(MS_WORK_HOST_UPDATE, MS_STREAM_UPDATES, 6000000);
    const ms_work back = work(MS_WORK_TO_DEVICE, MS_STREAM_TO_DEVICE, 1000000);
    const ms_work works[] = {out, out, update, back, update, back};
    const ms_event events[] = {{MS_EVENT_MARK, 0}, {MS_EVENT_WORK, 0}, {MS_EVENT_WORK, 1},
                               {MS_EVENT_WAIT, 0}, {MS_EVENT_WORK, 2}, {MS_EVENT_WAIT, 2},
                               {MS_EVENT_WORK, 3}, {MS_EVENT_WAIT, 1}, {MS_EVENT_WORK, 4},
                               {MS_EVENT_WAIT, 4}, {MS_EVENT_WORK, 5}, {MS_EVENT_WAIT, 3},
                               {MS_EVENT_WAIT, 5}};
    const ms_step_time time = time_of(&device, works, COUNT_OF(works), events, COUNT_OF(events));
    assert_float_equal((float)time.step_ms, 1 + 3 + 3 + 1, 1e-4f);
    assert_float_equal((float)time.exposed_ms, 8, 1e-4f);
    assert_float_equal((float)time.copy_ms, 4, 1e-4f);
}

/* Nobody waits for the copy between, but what the host adds is there only then: 1 ms and 3 ms. */
static void what_comes_after_a_copy_begins_then(void **state)
{
    (void)state;
    const ms_device device = {.host_link_bytes_per_s = 1e9, .host_memory_bytes_per_s = 2e9};
    ms_work works[] = {work(MS_WORK_TO_HOST, MS_STREAM_TO_HOST, 1000000),
                       work(MS_WORK_HOST_UPDATE, MS_STREAM_UPDATES, 6000000)};
    works[1].after = 0;
    const ms_event events[] = {
        {MS_EVENT_MARK, 0}, {MS_EVENT_WORK, 0}, {MS_EVENT_WORK, 1}, {MS_EVENT_WAIT, 1}};
    const ms_step_time time = time_of(&device, works, COUNT_OF(works), events, COUNT_OF(events));
    assert_float_equal((float)time.exposed_ms, 1 + 3, 1e-4f);
    assert_float_equal((float)time.copy_ms, 1, 1e-4f);
}

/* A gather of 2 ms on a stream of its own, which a stream of copies waits for, and the operators
 * for its copy: 2 ms and 1 ms. A second collective follows the first. */
static void streams_wait_for_one_another(void **state)
{
    (void)state;
    const ms_device device = {.host_link_bytes_per_s = 1e9, .peer_link_bytes_per_s = 5e8};
    ms_trace trace;
    ms_playback time;
    assert_true(ms_trace_init(&trace));
    uint32_t gathers = ms_trace_add_stream(
        &trace, (ms_stream){.kind = MS_STREAM_COLLECTIVE, .link = MS_LINK_PEER});
    assert_int_equal(gathers, MS_FIRST_STREAMS);
    uint32_t gather = ms_trace_add_work(&trace, work(MS_WORK_ALL_GATHER, gathers, 1000000));
    uint32_t wait = ms_trace_add_wait(&trace, MS_STREAM_TO_HOST, gather);
    uint32_t copy = ms_trace_add_work(&trace, work(MS_WORK_TO_HOST, MS_STREAM_TO_HOST, 1000000));
    uint32_t last = ms_trace_add_wait(&trace, MS_STREAM_OPERATORS, copy);
    uint32_t reduce = ms_trace_add_work(&trace, work(MS_WORK_ALL_REDUCE, gathers, 500000));
    assert_true(ms_playback_init(&time, &trace, &device));
    assert_float_equal((float)ms_playback_work(&time, gather), 2, 1e-4f);
    assert_float_equal((float)ms_playback_wait(&time, wait), 0, 1e-4f);
    assert_float_equal((float)time.now_ms, 0, 1e-4f);
    assert_float_equal((float)ms_playback_work(&time, copy), 1, 1e-4f);
    assert_float_equal((float)time.works[copy].begin_ms, 2, 1e-4f);
    assert_float_equal((float)ms_playback_wait(&time, last), 3, 1e-4f);
    assert_float_equal((float)ms_playback_work(&time, reduce), 1, 1e-4f);
    assert_float_equal((float)time.works[reduce].begin_ms, 3, 1e-4f);
    ms_playback_free(&time);
    ms_trace_free(&trace);
}

int main(void)
{
    struct CMUnitTest tests[COUNT_OF(cases) + 3];
    size_t count = ADD_ROWS(tests, check_case, cases);
    tests[count++] = (struct CMUnitTest)cmocka_unit_test(updates_on_the_host_overlap_copies);
    tests[count++] = (struct CMUnitTest)cmocka_unit_test(what_comes_after_a_copy_begins_then);
    tests[count++] = (struct CMUnitTest)cmocka_unit_test(streams_wait_for_one_another);
    return _cmocka_run_group_tests("the clock", tests, count, NULL, NULL);
}
