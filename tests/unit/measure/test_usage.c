/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Traces made by hand, with the sums worked out beside them.
 */
#include "run/measure/usage.h"

#include <inttypes.h>

#include "unit/support.h"

#define MIB(n) (UINT64_C(1048576) * (n))

/* ---- a trace written as events ---- */

static void put(ms_trace *trace, ms_event_kind kind, uint32_t id)
{
    assert_true(ms_vec_push(&trace->events, (ms_event){.kind = kind, .id = id}));
}

static uint32_t take(ms_trace *trace, uint64_t bytes)
{
    assert_true(ms_vec_push(&trace->storages, (ms_storage){.bytes = bytes}));
    put(trace, MS_EVENT_ALLOC, trace->storages.count - 1);
    return trace->storages.count - 1;
}

static void drop(ms_trace *trace, uint32_t storage)
{
    put(trace, MS_EVENT_FREE, storage);
}

static void mark(ms_trace *trace, bool begin, ms_phase phase, uint16_t step)
{
    ms_mark m = {.begin = begin, .phase = (uint8_t)phase, .step = step, .repeats = step};
    assert_true(ms_vec_push(&trace->marks, m));
    put(trace, MS_EVENT_MARK, trace->marks.count - 1);
}

/* A weight, then in every step an activation that backward replaces by a gradient. */
static void fill_steps(ms_trace *trace, uint16_t steps, uint64_t weight, uint64_t activation,
                       uint64_t temporary)
{
    assert_true(ms_trace_init(trace));
    mark(trace, true, MS_PHASE_BUILD, 0);
    take(trace, weight);
    mark(trace, false, MS_PHASE_BUILD, 0);
    for (uint16_t step = 1; step <= steps; step++) {
        mark(trace, true, MS_PHASE_FORWARD, step);
        uint32_t t = take(trace, temporary);
        uint32_t a = take(trace, activation);
        drop(trace, t);
        mark(trace, false, MS_PHASE_FORWARD, step);
        mark(trace, true, MS_PHASE_BACKWARD, step);
        uint32_t g = take(trace, weight);
        drop(trace, a);
        mark(trace, false, MS_PHASE_BACKWARD, step);
        mark(trace, true, MS_PHASE_ZERO_GRAD, step);
        drop(trace, g);
        mark(trace, false, MS_PHASE_ZERO_GRAD, step);
    }
}

static void fill(ms_trace *trace, uint64_t weight, uint64_t activation, uint64_t temporary)
{
    fill_steps(trace, 2, weight, activation, temporary);
}

/* ---- rows ---- */

typedef struct expected_phase {
    uint64_t start_bytes, peak_bytes, end_bytes, peak_reserved_bytes;
} expected_phase;

typedef struct usage_case {
    const char *label;
    ms_allocator_options options;
    uint64_t weight, activation, temporary;
    bool out_of_memory;
    expected_phase steady[3];
} usage_case;

static const usage_case cases[] = {
    {"raw",
     {.kind = MS_ALLOCATOR_RAW},
     1000,
     30,
     7,
     false,
     {{1000, 1037, 1030, 1037}, {1030, 2030, 2000, 2030}, {2000, 2000, 1000, 2000}}},
    {"nothing but a weight",
     {.kind = MS_ALLOCATOR_RAW},
     10,
     0,
     0,
     false,
     {{10, 10, 10, 10}, {10, 20, 20, 20}, {20, 20, 10, 20}}},
    {"caching, blocks of 512",
     {.kind = MS_ALLOCATOR_CUDA},
     1000,
     30,
     7,
     false,
     {{1024, 2048, 1536, MIB(2)}, {1536, 2560, 2048, MIB(2)}, {2048, 2048, 1024, MIB(2)}}},
    /* 16 weight, 12 activation, 30 temporary: the gradient's 16 come out of the 30 */
    {"caching, segments reused",
     {.kind = MS_ALLOCATOR_CUDA},
     MIB(16),
     MIB(12),
     MIB(30),
     false,
     {{MIB(16), MIB(58), MIB(28), MIB(58)},
      {MIB(28), MIB(44), MIB(32), MIB(58)},
      {MIB(32), MIB(32), MIB(16), MIB(58)}}},
    {"expandable",
     {.kind = MS_ALLOCATOR_CUDA_EXPANDABLE},
     MIB(16),
     MIB(12),
     MIB(30),
     false,
     {{MIB(16), MIB(58), MIB(28), MIB(60)},
      {MIB(28), MIB(44), MIB(32), MIB(60)},
      {MIB(32), MIB(32), MIB(16), MIB(60)}}},
    {"too small a device goes on without a limit",
     {.kind = MS_ALLOCATOR_CUDA, .capacity_bytes = MIB(50)},
     MIB(16),
     MIB(12),
     MIB(30),
     true,
     {{MIB(16), MIB(58), MIB(28), MIB(58)},
      {MIB(28), MIB(44), MIB(32), MIB(58)},
      {MIB(32), MIB(32), MIB(16), MIB(58)}}},
};

static void check_case(void **state)
{
    const usage_case *c = *state;
    ms_trace trace;
    ms_usage usage;
    fill(&trace, c->weight, c->activation, c->temporary);
    assert_int_equal(ms_usage_measure(&trace, &c->options, &usage, NULL), MS_OK);
    assert_int_equal(usage.phases.count, 6);
    assert_int_equal(usage.first_steady_phase, 3);
    assert_int_equal(usage.after_build_bytes, c->steady[0].start_bytes);
    assert_int_equal(usage.start_bytes, c->steady[0].start_bytes);
    assert_int_equal(usage.out_of_memory, c->out_of_memory);
    uint64_t peak_bytes = 0;
    for (uint32_t i = 0; i < 3; i++) {
        const ms_phase_usage *phase = &usage.phases.items[3 + i];
        assert_int_equal(phase->step, 2);
        assert_int_equal(phase->repeats, 2);
        assert_int_equal(phase->start_bytes, c->steady[i].start_bytes);
        assert_int_equal(phase->peak_bytes, c->steady[i].peak_bytes);
        assert_int_equal(phase->end_bytes, c->steady[i].end_bytes);
        assert_int_equal(phase->peak_reserved_bytes, c->steady[i].peak_reserved_bytes);
        peak_bytes = phase->peak_bytes > peak_bytes ? phase->peak_bytes : peak_bytes;
    }
    assert_int_equal(usage.peak_bytes, peak_bytes);
    ms_usage_free(&usage);
    ms_trace_free(&trace);
}

/* Playing the last step once more gives what a trace with that step written out gives. */
static void check_lean(void **state)
{
    const usage_case *c = *state;
    ms_trace trace;
    ms_usage full, lean;
    bool repeats = false;
    fill(&trace, c->weight, c->activation, c->temporary);
    assert_int_equal(ms_usage_measure_lean(&trace, &c->options, &lean, &repeats, NULL), MS_OK);
    ms_trace_free(&trace);
    fill_steps(&trace, 3, c->weight, c->activation, c->temporary);
    assert_int_equal(ms_usage_measure(&trace, &c->options, &full, NULL), MS_OK);
    assert_true(repeats);
    assert_int_equal(lean.peak_bytes, full.peak_bytes);
    assert_int_equal(lean.peak_requested_bytes, full.peak_requested_bytes);
    assert_int_equal(lean.peak_reserved_bytes, full.peak_reserved_bytes);
    assert_int_equal(lean.out_of_memory, full.out_of_memory);
    assert_int_equal(lean.retries, full.retries);
    ms_usage_free(&full);
    ms_usage_free(&lean);
    ms_trace_free(&trace);
}

/* A last step that leaves a tensor behind, or drops an older one, cannot be played again. */
static void step_that_does_not_repeat(void **state)
{
    (void)state;
    for (int drops = 0; drops < 2; drops++) {
        ms_allocator_options options = {.kind = MS_ALLOCATOR_RAW};
        ms_trace trace;
        ms_usage usage;
        bool repeats = true;
        fill(&trace, 1000, 30, 7);
        mark(&trace, true, MS_PHASE_CLIP, 2);
        if (drops)
            drop(&trace, 0);
        else
            take(&trace, 10);
        mark(&trace, false, MS_PHASE_CLIP, 2);
        assert_int_equal(ms_usage_measure_lean(&trace, &options, &usage, &repeats, NULL), MS_OK);
        assert_false(repeats);
        ms_usage_free(&usage);
        ms_trace_free(&trace);
    }
}

/* ---- the curve and the blocks ---- */

static void curve_of_the_steady_step(void **state)
{
    (void)state;
    static const uint64_t curve[] = {1000, 1007, 1037, 1030, 1030, 1030,
                                     2030, 2000, 2000, 2000, 1000, 1000};
    ms_allocator_options options = {.kind = MS_ALLOCATOR_RAW};
    ms_trace trace;
    ms_usage usage;
    fill(&trace, 1000, 30, 7);
    assert_int_equal(ms_usage_measure(&trace, &options, &usage, NULL), MS_OK);
    assert_int_equal(usage.steady_end_event - usage.steady_first_event, COUNT_OF(curve));
    for (size_t i = 0; i < COUNT_OF(curve); i++)
        assert_int_equal(usage.live_bytes[i], curve[i]);
    assert_int_equal(usage.peak_event, usage.steady_first_event + 6);
    assert_int_equal(usage.block_bytes[0], 1000);
    ms_usage_free(&usage);
    ms_trace_free(&trace);
}

static void an_empty_trace(void **state)
{
    (void)state;
    ms_allocator_options options = {.kind = MS_ALLOCATOR_CUDA};
    ms_trace trace;
    ms_usage usage;
    assert_true(ms_trace_init(&trace));
    assert_int_equal(ms_usage_measure(&trace, &options, &usage, NULL), MS_OK);
    assert_int_equal(usage.peak_bytes, 0);
    ms_usage_free(&usage);
    ms_trace_free(&trace);
}

static void sizes_that_do_not_fit(void **state)
{
    (void)state;
    ms_allocator_options options = {.kind = MS_ALLOCATOR_CUDA};
    ms_trace trace;
    ms_usage usage;
    ms_error err = {0};
    fill(&trace, UINT64_C(1) << 62, 1, 1);
    assert_int_equal(ms_usage_measure(&trace, &options, &usage, &err), MS_ERR_OVERFLOW);
    assert_string_equal(err.text, "the tensors of this run exceed 2^62 bytes");
    assert_null(usage.live_bytes);
    ms_trace_free(&trace);
}

int main(void)
{
    const struct CMUnitTest others[] = {
        cmocka_unit_test(curve_of_the_steady_step),
        cmocka_unit_test(an_empty_trace),
        cmocka_unit_test(step_that_does_not_repeat),
        cmocka_unit_test(sizes_that_do_not_fit),
    };
    int failed = run_rows("usage of a trace", check_case, cases);
    failed += run_rows("usage of a lean run", check_lean, cases);
    failed += cmocka_run_group_tests_name("usage, the rest", others, NULL, NULL);
    return failed;
}
