/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Functional collectives and redistributions: what they allocate, and when what they send goes.
 */
#include "torch/ops/dtensor/dtensor.h"

#include <string.h>

#include "torch/autograd/engine.h"
#include "torch/ops/ops.h"
#include "unit/support.h"

enum { RANKS = 4 };

typedef struct bench {
    ms_trace trace;
    ms_tape tape;
} bench;

static const ms_device gpu = {.name = "gpu", .compute_capability = 80, .multiprocessors = 108};

static int set_up(void **state)
{
    bench *b = calloc(1, sizeof *b);
    const ms_tape_options options = {.device = &gpu};
    if (!b || !ms_trace_init(&b->trace) || !ms_tape_init(&b->tape, &b->trace, options))
        return -1;
    b->tape.grad_enabled = true;
    ms_mesh_begin(&b->tape, RANKS);
    *state = b;
    return 0;
}

static int tear_down(void **state)
{
    bench *b = *state;
    ms_tape_free(&b->tape);
    ms_trace_free(&b->trace);
    free(b);
    return 0;
}

static ms_tensor tensor_of(bench *b, uint64_t sequences, uint64_t tokens, uint64_t width)
{
    ms_symbols *s = &b->trace.symbols;
    ms_tensor tensor = ms_empty(
        &b->tape,
        MS_SHAPE(ms_dim_number(s, sequences), ms_dim_number(s, tokens), ms_dim_number(s, width)),
        MS_DTYPE_F32);
    ms_retain(&b->tape, tensor);
    return tensor;
}

/* "+8 -4 ": allocations and frees since `first`, in numbers of fp32. */
static void check_events(bench *b, uint32_t first, const char *expected)
{
    char text[128] = "";
    size_t length = 0;
    for (uint32_t i = first; i < b->trace.events.count; i++) {
        ms_event e = b->trace.events.items[i];
        if (e.kind != MS_EVENT_ALLOC && e.kind != MS_EVENT_FREE)
            continue;
        length += (size_t)snprintf(text + length, sizeof text - length, "%c%d ",
                                   e.kind == MS_EVENT_ALLOC ? '+' : '-',
                                   (int)(b->trace.storages.items[e.id].bytes / 4));
    }
    assert_string_equal(text, expected);
}

/* With one sequence what was gathered is a view, with two its parts are joined. */
static void gathering_copies_behind_a_dimension(void **state)
{
    bench *b = *state;
    ms_tape *tape = &b->tape;
    uint32_t first = b->trace.events.count;
    ms_tensor one = tensor_of(b, 1, 2, 5), two = tensor_of(b, 2, 2, 5);
    ms_consume(tape, ms_mesh_all_gather(tape, one, 1));
    ms_consume(tape, ms_mesh_all_gather(tape, two, 1));
    ms_consume(tape, ms_mesh_all_gather(tape, one, 2));
    check_events(b, first, "+10 +20 +40 -40 +80 +80 -80 -80 +40 +40 -40 -40 ");
    ms_release(tape, one);
    ms_release(tape, two);
}

/* What is sent goes with whoever waits. */
static void reduction_keeps_what_it_sends(void **state)
{
    bench *b = *state;
    ms_tape *tape = &b->tape;
    ms_tensor x = tensor_of(b, 1, 8, 3);
    uint32_t first = b->trace.events.count;
    ms_consume(tape, ms_mesh_reduce_scatter(tape, x, 1, MS_WAITS_NOW));
    check_events(b, first, "+24 +6 -24 -6 ");
    first = b->trace.events.count;
    ms_consume(tape, ms_neg(tape, ms_mesh_reduce_scatter(tape, x, 1, MS_WAITS_FOR_OPERATOR)));
    check_events(b, first, "+24 +6 -24 +6 -6 -6 ");
    first = b->trace.events.count;
    ms_consume(tape, ms_neg(tape, ms_mesh_reduce_scatter(tape, x, 1, MS_WAITS_FOR_CALL)));
    ms_mesh_wait_for(tape);
    ms_mesh_wait_for(tape);
    check_events(b, first, "+24 +6 +6 -6 -6 -24 ");
    ms_release(tape, x);
}

static void take_gradients(bench *b, ms_tensor x)
{
    ms_info(&b->tape, x)->leaf = b->tape.parameters.count;
    ms_info(&b->tape, x)->requires_grad = true;
    assert_true(ms_vec_push(&b->tape.parameters, (ms_parameter){.tensor = x, .scope = MS_NONE}));
}

static uint32_t run_backward(bench *b, ms_tensor result)
{
    ms_retain(&b->tape, result);
    ms_tensor grad = ms_empty_like(&b->tape, result, MS_DTYPE_F32);
    uint32_t first = b->trace.events.count;
    ms_backward(&b->tape, result, grad);
    ms_release(&b->tape, result);
    assert_int_equal(b->tape.status, MS_OK);
    return first;
}

/* The gradient of what all ranks have is a sum; that of parts is taken over, or reduced. */
static void gradients_go_the_other_way(void **state)
{
    bench *b = *state;
    ms_tape *tape = &b->tape;
    ms_tensor x = tensor_of(b, 1, 8, 3);
    take_gradients(b, x);
    uint32_t first = run_backward(b, ms_mesh_enter(tape, x));
    check_events(b, first, "+24 -24 ");
    ms_release(tape, tape->parameters.items[0].grad);
    tape->parameters.items[0].grad = 0;
    first = run_backward(b, ms_mesh_gather_tokens(tape, x, true));
    check_events(b, first, "+96 +24 -96 -96 -96 ");
    ms_release(tape, tape->parameters.items[0].grad);
    ms_release(tape, x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(gathering_copies_behind_a_dimension, set_up, tear_down),
        cmocka_unit_test_setup_teardown(reduction_keeps_what_it_sends, set_up, tear_down),
        cmocka_unit_test_setup_teardown(gradients_go_the_other_way, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("dtensor", tests, NULL, NULL);
}
