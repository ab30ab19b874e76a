/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What cuDNN's attention requests, as measured on an H200 (torch 2.11, cuDNN 9.19) in bf16.
 */
#include <stdio.h>
#include <string.h>

#include "torch/autograd/engine.h"
#include "torch/ops/attention/sdpa.h"
#include "torch/ops/ops.h"

#include "unit/support.h"

enum { MASK_NONE, MASK_CAUSAL, MASK_BOOL };

typedef struct row {
    const char *label;
    uint64_t shape[5]; /* batch, heads, heads of the keys, tokens, width */
    int mask;
    const char *forward, *without_gradients;
    const char *backward; /* up to the workspace's end */
} row;

/* clang-format off */
static const row rows[] = {
    {"1x32/32 2048, 64 wide, causal", {1, 32, 32, 2048, 64}, MASK_CAUSAL,
     "+8 +8 +8388608 +262144 +256 -256",
     "+8 +8 +8388608 +256 -256 -8 -8",
     "+8388608 +8388608 +8388608 +17039616 -17039616"},
    {"1x32/8 2048, 64 wide, causal", {1, 32, 8, 2048, 64}, MASK_CAUSAL,
     "+8 +8 +8388608 +262144 +256 -256",
     "+8 +8 +8388608 +256 -256 -8 -8",
     "+8388608 +2097152 +2097152 +33816832 -33816832"},
    {"4x16/16 1024, 64 wide, causal", {4, 16, 16, 1024, 64}, MASK_CAUSAL,
     "+8 +8 +8388608 +262144 +256 -256",
     "+8 +8 +8388608 +256 -256 -8 -8",
     "+8388608 +8388608 +8388608 +17039616 -17039616"},
    {"1x12/12 1024, 64 wide, causal", {1, 12, 12, 1024, 64}, MASK_CAUSAL,
     "+8 +8 +1572864 +49152 +256 -256",
     "+8 +8 +1572864 +256 -256 -8 -8",
     "+1572864 +1572864 +1572864 +3195136 -3195136"},
    {"3x12/12 777, 64 wide, causal", {3, 12, 12, 777, 64}, MASK_CAUSAL,
     "+8 +8 +3580416 +111888 +256 -256",
     "+8 +8 +3580416 +256 -256 -8 -8",
     "+3580416 +3580416 +3580416 +7272976 -7272976"},
    {"1x9/9 2048, 64 wide, causal", {1, 9, 9, 2048, 64}, MASK_CAUSAL,
     "+8 +8 +2359296 +73728 +256 -256",
     "+8 +8 +2359296 +256 -256 -8 -8",
     "+2359296 +2359296 +2359296 +4792576 -4792576"},
    {"1x9/3 2048, 64 wide, causal", {1, 9, 3, 2048, 64}, MASK_CAUSAL,
     "+8 +8 +2359296 +73728 +256 -256",
     "+8 +8 +2359296 +256 -256 -8 -8",
     "+2359296 +786432 +786432 +9511168 -9511168"},
    {"2x16/8 1000, 128 wide, causal", {2, 16, 8, 1000, 128}, MASK_CAUSAL,
     "+8 +8 +8192000 +128000 +256 -256",
     "+8 +8 +8192000 +256 -256 -8 -8",
     "+8192000 +4096000 +4096000 +32896256 -32896256"},
    {"1x8/8 128, 128 wide, causal", {1, 8, 8, 128, 128}, MASK_CAUSAL,
     "+8 +8 +262144 +4096 +256 -256",
     "+8 +8 +262144 +256 -256 -8 -8",
     "+262144 +262144 +262144 +528640 -528640"},
    {"1x8/1 129, 128 wide, causal", {1, 8, 1, 129, 128}, MASK_CAUSAL,
     "+8 +8 +264192 +4128 +256 -256",
     "+8 +8 +264192 +256 -256 -8 -8",
     "+264192 +33024 +33024 +1061152 -1061152"},
    {"2x4/4 100, 32 wide, causal", {2, 4, 4, 100, 32}, MASK_CAUSAL,
     "+8 +8 +51200 +3200 +256 -256",
     "+8 +8 +51200 +256 -256 -8 -8",
     "+51200 +51200 +51200 +105856 -105856"},
    {"1x4/4 64, 16 wide, causal", {1, 4, 4, 64, 16}, MASK_CAUSAL,
     "+8 +8 +8192 +1024 +256 -256",
     "+8 +8 +8192 +256 -256 -8 -8",
     "+8192 +8192 +8192 +17664 -17664"},
    {"2x5/5 37, 24 wide, causal", {2, 5, 5, 37, 24}, MASK_CAUSAL,
     "+8 +8 +17760 +1480 +256 -256",
     "+8 +8 +17760 +256 -256 -8 -8",
     "+17760 +17760 +17760 +37256 -37256"},
    {"1x32/32 512, 80 wide, causal", {1, 32, 32, 512, 80}, MASK_CAUSAL,
     "+8 +8 +2621440 +65536 +256 -256",
     "+8 +8 +2621440 +256 -256 -8 -8",
     "+2621440 +2621440 +2621440 +5308672 -5308672"},
    {"1x32/32 512, 96 wide, causal", {1, 32, 32, 512, 96}, MASK_CAUSAL,
     "+8 +8 +3145728 +65536 +256 -256",
     "+8 +8 +3145728 +256 -256 -8 -8",
     "+3145728 +3145728 +3145728 +6357248 -6357248"},
    {"1x8/4 1024, 256 wide, causal", {1, 8, 4, 1024, 256}, MASK_CAUSAL,
     "+8 +8 +4194304 +32768 +256 -256",
     "+8 +8 +4194304 +256 -256 -8 -8",
     "+4194304 +2097152 +2097152 +16810240 -16810240"},
    {"1x8/8 1024, 256 wide, causal", {1, 8, 8, 1024, 256}, MASK_CAUSAL,
     "+8 +8 +4194304 +32768 +256 -256",
     "+8 +8 +4194304 +256 -256 -8 -8",
     "+4194304 +4194304 +4194304 +8421632 -8421632"},
    {"1x16/16 512, 72 wide, causal", {1, 16, 16, 512, 72}, MASK_CAUSAL,
     "+8 +8 +1179648 +32768 +256 -256",
     "+8 +8 +1179648 +256 -256 -8 -8",
     "+1179648 +1179648 +1179648 +2392320 -2392320"},
    {"4x16/16 1024, 64 wide, none", {4, 16, 16, 1024, 64}, MASK_NONE,
     "+8 +8 +8388608 +262144 +256 -256",
     "+8 +8 +8388608 +256 -256 -8 -8",
     "+8388608 +8388608 +8388608 +17039616 -17039616"},
    {"4x16/16 1024, 64 wide, bool", {4, 16, 16, 1024, 64}, MASK_BOOL,
     "+2 +2 +8388608 -2 -2 +8 +8 +8388608 +262144 +256 -256",
     "+2 +2 +8388608 -2 -2 +8 +8 +8388608 +256 -256 -8 -8 -8388608",
     "+8388608 +8388608 +8388608 +17039616 -17039616"},
    {"1x12/12 1024, 64 wide, none", {1, 12, 12, 1024, 64}, MASK_NONE,
     "+8 +8 +1572864 +49152 +256 -256",
     "+8 +8 +1572864 +256 -256 -8 -8",
     "+1572864 +1572864 +1572864 +3195136 -3195136"},
    {"1x12/12 1024, 64 wide, bool", {1, 12, 12, 1024, 64}, MASK_BOOL,
     "+2 +2 +2097152 -2 -2 +8 +8 +1572864 +49152 +256 -256",
     "+2 +2 +2097152 -2 -2 +8 +8 +1572864 +256 -256 -8 -8 -2097152",
     "+1572864 +1572864 +1572864 +3195136 -3195136"},
    {"3x12/12 777, 64 wide, none", {3, 12, 12, 777, 64}, MASK_NONE,
     "+8 +8 +3580416 +111888 +256 -256",
     "+8 +8 +3580416 +256 -256 -8 -8",
     "+3580416 +3580416 +3580416 +7272976 -7272976"},
    {"3x12/12 777, 64 wide, bool", {3, 12, 12, 777, 64}, MASK_BOOL,
     "+2 +2 +3622374 -2 -2 +8 +8 +3580416 +111888 +256 -256",
     "+2 +2 +3622374 -2 -2 +8 +8 +3580416 +256 -256 -8 -8 -3622374",
     "+3580416 +3580416 +3580416 +7272976 -7272976"},
    {"2x16/8 1000, 128 wide, none", {2, 16, 8, 1000, 128}, MASK_NONE,
     "+8 +8 +8192000 +128000 +256 -256",
     "+8 +8 +8192000 +256 -256 -8 -8",
     "+8192000 +4096000 +4096000 +32896256 -32896256"},
    {"2x16/8 1000, 128 wide, bool", {2, 16, 8, 1000, 128}, MASK_BOOL,
     "+2 +2 +4000000 -2 -2 +8 +8 +8192000 +128000 +256 -256",
     "+2 +2 +4000000 -2 -2 +8 +8 +8192000 +256 -256 -8 -8 -4000000",
     "+8192000 +4096000 +4096000 +32896256 -32896256"},
};
/* clang-format on */

static void expect_events(const ms_trace *trace, uint32_t first, const char *expected,
                          bool is_start)
{
    char text[512] = "";
    size_t length = 0;
    for (uint32_t i = first; i < trace->events.count && length < 400; i++) {
        ms_event e = trace->events.items[i];
        if (e.kind == MS_EVENT_ALLOC || e.kind == MS_EVENT_FREE)
            length += (size_t)snprintf(text + length, sizeof text - length, "%s%c%d",
                                       length ? " " : "", e.kind == MS_EVENT_ALLOC ? '+' : '-',
                                       (int)trace->storages.items[e.id].bytes);
    }
    if (is_start)
        text[strlen(expected)] = 0;
    assert_string_equal(text, expected);
}

static ms_tensor input(ms_tape *tape, ms_dim heads, const ms_dim *d, bool trains)
{
    ms_tensor t = ms_empty(tape, MS_SHAPE(d[0], heads, d[3], d[4]), MS_DTYPE_BF16);
    ms_retain(tape, t);
    ms_info(tape, t)->requires_grad = trains;
    if (trains) {
        ms_info(tape, t)->leaf = tape->parameters.count;
        ms_parameter leaf = {.tensor = t, .name = ms_tape_name(tape, "w"), .scope = MS_NONE};
        assert_true(ms_vec_push(&tape->parameters, leaf));
    }
    return t;
}

static void run(const row *c, bool trains)
{
    static const ms_device gpu = {.name = "gpu", .compute_capability = 90, .multiprocessors = 132};
    ms_trace trace;
    ms_tape tape;
    assert_true(ms_trace_init(&trace) &&
                ms_tape_init(&tape, &trace, (ms_tape_options){.device = &gpu}));
    tape.grad_enabled = trains;
    ms_dim d[5];
    for (int i = 0; i < 5; i++)
        d[i] = ms_dim_number(&trace.symbols, c->shape[i]);
    ms_tensor q = input(&tape, d[1], d, trains), k = input(&tape, d[2], d, trains);
    ms_tensor v = input(&tape, d[2], d, trains), mask = 0;
    if (c->mask == MASK_BOOL) {
        ms_dim one = ms_dim_number(&trace.symbols, 1);
        mask = ms_empty(&tape, MS_SHAPE(d[0], one, d[3], d[3]), MS_DTYPE_BOOL);
        ms_retain(&tape, mask);
    }
    uint32_t before = trace.events.count;
    ms_tensor out = ms_cudnn_attention(
        &tape, q, k, v,
        (ms_attention_call_args){.mask = mask, .both_ways = c->mask != MASK_CAUSAL});
    ms_retain(&tape, out);
    expect_events(&trace, before, trains ? c->forward : c->without_gradients, false);
    if (trains) {
        ms_tensor grad = ms_empty_like(&tape, out, MS_DTYPE_BF16);
        before = trace.events.count;
        ms_backward(&tape, out, grad);
        expect_events(&trace, before, c->backward, true);
    }
    assert_int_equal(tape.status, MS_OK);
    ms_tape_free(&tape);
    ms_trace_free(&trace);
}

static void check(void **state)
{
    run(*state, true);
    run(*state, false);
}

int main(void)
{
    return run_rows("cudnn", check, rows);
}
