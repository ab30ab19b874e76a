/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Slices, splits and joins, and operators that copy what does not lie in rows: what they allocate
 * forward, and what their backward holds. A row is a function of a leaf w of [2, 8] in bfloat16 (32
 * bytes), and the events of it and of its backward, as sizes in bytes.
 */
#include <string.h>

#include "torch/ops/einsum.h"
#include "torch/ops/ops.h"
#include "torch/ops/split.h"
#include "torch/autograd/engine.h"
#include "torch/ops/attention/attention.h"
#include "unit/support.h"

typedef struct view_case {
    const char *label;
    ms_tensor (*run)(ms_tape *tape, ms_tensor w);
    bool autocast; /* on the CPU */
    const char *forward, *backward;
} view_case;

static ms_dim eight(ms_tape *tape)
{
    return ms_dim_name(&tape->trace->symbols, "D", 8);
}

static ms_dim some(ms_tape *tape)
{
    return ms_dim_name(&tape->trace->symbols, "R", 6);
}

static ms_tensor part(ms_tape *tape, ms_tensor w)
{
    return ms_slice_last(tape, w, some(tape));
}

static ms_tensor whole(ms_tape *tape, ms_tensor w)
{
    return ms_slice_last(tape, w, eight(tape));
}

static ms_tensor nothing(ms_tape *tape, ms_tensor w)
{
    ms_dim none = ms_dim_rest(&tape->trace->symbols, eight(tape), eight(tape));
    return ms_slice_last(tape, w, none);
}

static ms_tensor every_second(ms_tape *tape, ms_tensor w)
{
    return ms_slice_every_second(tape, w);
}

static ms_tensor stacked(ms_tape *tape, ms_tensor w)
{
    return ms_stack_last(tape, ms_neg(tape, w), w);
}

static ms_tensor halves(ms_tape *tape, ms_tensor w)
{
    ms_tensor parts[2];
    ms_split(tape, w, 1, ms_dim_half(&tape->trace->symbols, eight(tape)), 2, parts);
    return ms_mul(tape, parts[0], parts[1]);
}

/* The first six turn, the others pass. */
static ms_tensor joined(ms_tape *tape, ms_tensor w)
{
    ms_dim rest = ms_dim_rest(&tape->trace->symbols, eight(tape), some(tape));
    ms_tensor first = ms_neg(tape, ms_slice_last(tape, w, some(tape)));
    ms_tensor out = ms_cat2(tape, first, ms_slice_last(tape, w, rest), 1);
    assert_int_equal(ms_info(tape, out)->shape.dims[1].symbol, eight(tape).symbol);
    return out;
}

/* Under autocast a join takes the wider type: the other part is cast. */
static ms_tensor joined_wider(ms_tape *tape, ms_tensor w)
{
    return ms_cat2(tape, ms_to(tape, w, MS_DTYPE_F32), w, 1);
}

/* The negated gradient of what is taken away is made first, and then summed to its shape. */
static ms_tensor from_the_mean(ms_tape *tape, ms_tensor w)
{
    ms_tensor mean = ms_mean_last(tape, w);
    return ms_sub(tape, w, mean);
}

static ms_tensor divided(ms_tape *tape, ms_tensor w)
{
    return ms_div_scalar(tape, w);
}

/* Forward and backward copy the input for the call; the leaf takes a copy of a gradient in
 * columns. */
static ms_tensor norm_of_columns(ms_tape *tape, ms_tensor w)
{
    ms_dim two = ms_dim_number(&tape->trace->symbols, 2);
    ms_tensor weight = ms_empty(tape, MS_SHAPE(two), MS_DTYPE_BF16);
    ms_retain(tape, weight);
    ms_tensor out = ms_layer_norm(tape, ms_transpose(tape, w, 0, 1), weight, 0);
    ms_retain(tape, out);
    ms_release(tape, weight);
    return ms_unown(tape, out);
}

/* More tensors than a node has edges; their nodes get views of one gradient. */
static ms_tensor stacked_list(ms_tape *tape, ms_tensor w)
{
    enum { ITEMS = 5 };
    ms_tensor items[ITEMS];
    for (int i = 0; i < ITEMS; i++) {
        items[i] = ms_neg(tape, w);
        ms_retain(tape, items[i]);
    }
    ms_tensor out = ms_stack_list(tape, items, ITEMS, 2);
    ms_retain(tape, out);
    for (int i = ITEMS; i-- > 0;)
        ms_release(tape, items[i]);
    return ms_unown(tape, out);
}

/* Sequences and heads become batches, which lie apart: both sides are copied. */
static ms_tensor scores_by_einsum(ms_tape *tape, ms_tensor w)
{
    ms_dim two = ms_dim_number(&tape->trace->symbols, 2);
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *x = ms_local(&f, ms_view(tape, w, MS_SHAPE(two, two, two, two)));
    ms_tensor *out = ms_local(&f, ms_einsum(tape, "blhn,bshn->blsh", *x, *x));
    return ms_locals_end(&f, out);
}

/* The right side's letters come first in the result: it is the left side of the product. */
static ms_tensor turned_by_einsum(ms_tape *tape, ms_tensor w)
{
    ms_dim four = ms_dim_number(&tape->trace->symbols, 4);
    ms_dim two = ms_dim_number(&tape->trace->symbols, 2);
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *a = ms_local(&f, ms_view(tape, w, MS_SHAPE(two, two, four)));
    ms_tensor *b = ms_local(&f, ms_narrow(tape, *a, 2, two));
    ms_tensor *out = ms_local(&f, ms_einsum(tape, "bln,blp->bpn", *a, *b));
    assert_true(ms_is_contiguous(ms_info(tape, *out)));
    return ms_locals_end(&f, out);
}

static ms_tensor chosen(ms_tape *tape, ms_tensor w)
{
    ms_tensor condition = ms_empty(tape, ms_info(tape, w)->shape, MS_DTYPE_BOOL);
    return ms_where_number(tape, condition, w);
}

/* The kernel's gradient of a bias has rows of 16 numbers; the leaf takes a copy of the 8. */
static ms_tensor bias_of_attention(ms_tape *tape, ms_tensor w)
{
    ms_dim one = ms_dim_number(&tape->trace->symbols, 1), d = eight(tape);
    ms_dim rows = ms_info(tape, w)->shape.dims[0];
    ms_tensor q = ms_empty(tape, MS_SHAPE(one, one, rows, d), MS_DTYPE_BF16);
    ms_tensor k = ms_empty(tape, MS_SHAPE(one, one, d, d), MS_DTYPE_BF16);
    ms_tensor bias = ms_view(tape, w, MS_SHAPE(one, one, rows, d));
    return ms_sdpa(tape, MS_ATTENTION_EFFICIENT, q, k, k, bias, 0);
}

/* clang-format off */
static const view_case cases[] = {
    {"a part",           part,         false, "",                "+32 -24"},
    {"all of it",        whole,        false, "",                ""},
    {"none of it",       nothing,      false, "",                "+32"},
    {"every second",     every_second, false, "",                "+32 -16"},
    {"stack",            stacked,      false, "+32 +64 -32",     "+32 +32 -64 -32"},
    {"two halves",       halves,       false, "+16",             "+16 +16 -16 +32 -16 -16"},
    {"part and rest",    joined,       false, "+24 +32 -24",     "+32 +24 -32 +32 -24 -32"},
    {"wider by itself",  joined_wider, false, "+64 +128 -64", "+32 +32 -128 -32"},
    {"wider by autocast",joined_wider, true,  "+64 +64 +128 -64 -64", "+32 +32 -128 -32"},
    {"minus its mean",   from_the_mean, false, "+4 +32 -4", "+32 +4 -32 +32 -4 -32"},
    {"over a number",    divided,      false, "+32",             "+32 -32"},
    {"where, or a number", chosen,     false, "+16 +2 +32 -2",   "+2 +32 -2 -32 -16"},
    {"bias of attention", bias_of_attention, false, "+32 +128 +32 +128",
     "+32 +128 +128 +64 +8 +16400 -8 -16400 -32 -128 -128 -32 -32 -128 -128 +32 -64"},
    {"norm of columns",  norm_of_columns, false, "+4 +32 +32 +32 +32 -32", "+32 +32 -32 -32 -4 -32 -32 +32 -32"},
    {"stack of a list",  stacked_list, false, "+32 +32 +32 +32 +32 +160 -32 -32 -32 -32 -32", "+32 +32 -32 +32 -32 +32 -32 +32 -160 -32"},
    {"copies of both",   scores_by_einsum, false, "+32 +32 +32 +8519680", "+32 +32 -32 -32 -32 +32 -32 -32 +32 -32"},
    {"sides change",     turned_by_einsum, false, "+32 +8519680", "+32 +16 -32 +32 -16 +32 -32 -32"},
};
/* clang-format on */

static void expect_events(const ms_trace *trace, uint32_t first, const char *expected)
{
    char text[256] = "";
    size_t length = 0;
    for (uint32_t i = first; i < trace->events.count; i++) {
        ms_event e = trace->events.items[i];
        length += (size_t)snprintf(text + length, sizeof text - length, "%s%c%d",
                                   i > first ? " " : "", e.kind == MS_EVENT_ALLOC ? '+' : '-',
                                   (int)trace->storages.items[e.id].bytes);
    }
    assert_string_equal(text, expected);
}

static void check(void **state)
{
    static const ms_device gpu = {.name = "gpu", .compute_capability = 80, .multiprocessors = 108};
    const view_case *c = *state;
    ms_trace trace;
    ms_tape tape;
    assert_true(ms_trace_init(&trace) &&
                ms_tape_init(&tape, &trace, (ms_tape_options){.device = &gpu}));
    tape.grad_enabled = true;
    tape.has_autocast = tape.on_cpu = c->autocast;
    tape.autocast_dtype = MS_DTYPE_BF16;
    ms_dim rows = ms_dim_number(&trace.symbols, 2);
    ms_tensor w = ms_empty(&tape, MS_SHAPE(rows, eight(&tape)), MS_DTYPE_BF16);
    ms_retain(&tape, w);
    ms_info(&tape, w)->leaf = 0;
    ms_info(&tape, w)->requires_grad = true;
    ms_parameter leaf = {.tensor = w, .name = ms_tape_name(&tape, "w"), .scope = MS_NONE};
    assert_true(ms_vec_push(&tape.parameters, leaf));
    uint32_t before = trace.events.count;
    ms_tensor out = c->run(&tape, w);
    ms_retain(&tape, out);
    expect_events(&trace, before, c->forward);
    ms_tensor grad = ms_empty_like(&tape, out, (ms_dtype)ms_info(&tape, out)->dtype);
    before = trace.events.count;
    ms_backward(&tape, out, grad);
    expect_events(&trace, before, c->backward);
    assert_int_equal(tape.status, MS_OK);
    ms_tape_free(&tape);
    ms_trace_free(&trace);
}

int main(void)
{
    return run_rows("views", check, cases);
}
