/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ledger/clock.h"
#include "ledger/profile.h"

#include "unit/support.h"

typedef struct clock_case {
    const char *label;
    ms_device device;
    ms_op_exec op;
    double expected_ms;
} clock_case;

#define RATES .bf16_flops = 200e12, .fp32_flops = 20e12, .memory_bytes_per_s = 2e12

static const clock_case cases[] = {
    {"bound by arithmetic",
     {RATES},
     {.flops = 2000000000000, .traffic_bytes = 2000000000, .matmul_dtype = MS_DTYPE_BF16},
     10},
    {"bound by memory",
     {RATES},
     {.flops = 1000000, .traffic_bytes = 2000000000, .matmul_dtype = MS_DTYPE_BF16},
     1},
    {"fp32 is slower",
     {RATES},
     {.flops = 2000000000000, .traffic_bytes = 2000000000, .matmul_dtype = MS_DTYPE_F32},
     100},
    {"no half-precision rate",
     {.fp32_flops = 20e12, .memory_bytes_per_s = 2e12},
     {.flops = 2000000000000, .matmul_dtype = MS_DTYPE_F16},
     100},
    {"no bandwidth",
     {.bf16_flops = 200e12, .fp32_flops = 20e12},
     {.flops = 2000000000000, .matmul_dtype = MS_DTYPE_BF16},
     0},
    {"no rates at all", {0}, {.flops = 2000000000000, .traffic_bytes = 1}, 0},
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

int main(void)
{
    return run_rows("roofline of an operator", check_case, cases);
}
