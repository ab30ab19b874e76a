/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ledger/clock.h"

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
    {"no rates at all", {0}, {.flops = 2000000000000, .traffic_bytes = 1}, 0},
};

static void check_case(void **state)
{
    const clock_case *c = *state;
    assert_float_equal((float)ms_clock_op_ms(&c->device, &c->op), (float)c->expected_ms, 1e-4f);
    ms_trace trace;
    assert_true(ms_trace_init(&trace));
    for (uint32_t i = 1; i <= 3; i++) {
        ms_op_exec op = c->op;
        op.repeats = i;
        assert_true(ms_vec_push(&trace.ops, op));
    }
    assert_float_equal((float)ms_clock_step_ms(&c->device, &trace), (float)(6 * c->expected_ms),
                       1e-3f);
    ms_trace_free(&trace);
}

int main(void)
{
    return run_rows("roofline of an operator", check_case, cases);
}
