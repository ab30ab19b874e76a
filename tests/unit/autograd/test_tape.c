/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Rules of the tape that the families rely on: when references end, how gradients add up, what a
 * checkpoint holds, which reshapes copy. Expected events are written out by hand.
 */
#include "torch/autograd/tape.h"

#include <string.h>

#include "model/blocks/blocks.h"
#include "torch/ops/moe/experts.h"
#include "torch/ops/moe/rows.h"
#include "torch/ops/ops.h"
#include "torch/autograd/engine.h"
#include "torch/autograd/graph.h"
#include "torch/treatments/recompute.h"
#include "unit/support.h"

typedef struct bench {
    ms_trace trace;
    ms_tape tape;
} bench;

static const ms_device gpu = {.name = "gpu", .compute_capability = 80, .multiprocessors = 108};
static const ms_tape_options plain = {.device = &gpu};

static int set_up(void **state)
{
    bench *b = calloc(1, sizeof *b);
    if (!b || !ms_trace_init(&b->trace) || !ms_tape_init(&b->tape, &b->trace, plain))
        return -1;
    b->tape.grad_enabled = true;
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

static ms_shape square(bench *b, uint64_t n)
{
    ms_dim dim = ms_dim_number(&b->trace.symbols, n);
    return MS_SHAPE(dim, dim);
}

static ms_tensor fresh(bench *b, uint64_t n)
{
    return ms_empty(&b->tape, square(b, n), MS_DTYPE_F32);
}

static ms_tensor parameter(bench *b, uint64_t n)
{
    ms_tensor tensor = fresh(b, n);
    ms_retain(&b->tape, tensor);
    ms_info(&b->tape, tensor)->leaf = b->tape.parameters.count;
    ms_info(&b->tape, tensor)->requires_grad = true;
    assert_true(ms_vec_push(&b->tape.parameters, (ms_parameter){.tensor = tensor}));
    return tensor;
}

/* "+0 +1 -0": allocations and frees by the number of the storage. */
static void expect_events(bench *b, const char *expected)
{
    char text[512] = "";
    size_t length = 0;
    for (uint32_t i = 0; i < b->trace.events.count; i++) {
        ms_event e = b->trace.events.items[i];
        length += (size_t)snprintf(text + length, sizeof text - length, "%s%c%u", i ? " " : "",
                                   e.kind == MS_EVENT_ALLOC ? '+' : '-', e.id);
    }
    assert_string_equal(text, expected);
}

/* ---- references ---- */

static void a_temporary_dies_with_its_user(void **state)
{
    bench *b = *state;
    ms_tensor left = ms_neg(&b->tape, fresh(b, 4)), right = fresh(b, 4);
    ms_consume(&b->tape, ms_add(&b->tape, left, right));
    expect_events(b, "+0 +1 -0 +2 +3 -1 -2 -3");
}

static void a_local_lives_until_it_is_assigned(void **state)
{
    bench *b = *state;
    ms_locals f = ms_locals_begin(&b->tape);
    ms_tensor *x = ms_local(&f, fresh(b, 4));
    ms_assign(&f, x, ms_neg(&b->tape, *x));
    ms_tensor result = ms_locals_end(&f, x);
    expect_events(b, "+0 +1 -0");
    ms_consume(&b->tape, result);
    expect_events(b, "+0 +1 -0 -1");
}

static void an_argument_outlives_the_locals(void **state)
{
    bench *b = *state;
    ms_locals f = ms_locals_begin(&b->tape);
    ms_tensor *x = ms_argument(&f, fresh(b, 4));
    ms_assign(&f, x, ms_neg(&b->tape, *x));
    ms_local(&f, fresh(b, 4));
    ms_locals_end(&f, NULL);
    expect_events(b, "+0 +1 +2 -1 -2 -0");
}

static void a_view_keeps_its_storage(void **state)
{
    bench *b = *state;
    ms_tensor view = ms_transpose(&b->tape, fresh(b, 4), 0, 1);
    expect_events(b, "+0");
    ms_consume(&b->tape, view);
    expect_events(b, "+0 -0");
}

/* ---- backward ---- */

/* y = x + x: the same gradient twice, and it is not added in place while both hold it. */
static void a_shared_gradient_is_added_out_of_place(void **state)
{
    bench *b = *state;
    ms_tensor x = parameter(b, 4);
    ms_tensor y = ms_add(&b->tape, x, x);
    ms_retain(&b->tape, y);
    ms_backward(&b->tape, y, fresh(b, 4));
    expect_events(b, "+0 +1 +2 +3 -2");
    assert_int_equal(ms_info(&b->tape, b->tape.parameters.items[0].grad)->storage, 3);
}

/* y = -x + -x: the second gradient is added into the first, which nobody else holds. */
static void an_own_gradient_is_added_in_place(void **state)
{
    bench *b = *state;
    ms_tensor x = parameter(b, 4);
    ms_tensor left = ms_neg(&b->tape, x), right = ms_neg(&b->tape, x);
    ms_tensor y = ms_add(&b->tape, left, right);
    ms_retain(&b->tape, y);
    ms_backward(&b->tape, y, fresh(b, 4));
    expect_events(b, "+0 +1 +2 +3 -1 -2 +4 +5 +6 -4 -6");
}

/* Flipped, added up, and flipped back. */
static void a_running_sum_is_undone_backwards(void **state)
{
    bench *b = *state;
    ms_tensor y = ms_cumsum_last(&b->tape, parameter(b, 4));
    ms_retain(&b->tape, y);
    ms_backward(&b->tape, y, fresh(b, 4));
    expect_events(b, "+0 +1 +2 +3 +4 +5 -4 -3 -2");
}

/* Two lists of pointers for the kernel, both ways; the solution lies by columns, as does the right
 * side's gradient, which the parameter copies. */
static void a_system_keeps_its_matrix(void **state)
{
    bench *b = *state;
    ms_tensor matrix = fresh(b, 4), right = parameter(b, 4);
    ms_tensor y = ms_solve_triangular(&b->tape, matrix, right);
    ms_retain(&b->tape, y);
    assert_false(ms_is_contiguous(ms_info(&b->tape, y)));
    expect_events(b, "+0 +1 +2 +3 +4 -4 -3");
    ms_backward(&b->tape, y, fresh(b, 4));
    expect_events(b, "+0 +1 +2 +3 +4 -4 -3 +5 +6 +7 +8 -8 -7 -5 -0 +9 -6");
}

/* y = c * tanh(x / c), in three statements: of their results only tanh's is saved. */
static void a_cap_saves_one_result(void **state)
{
    bench *b = *state;
    ms_model model = {.tape = &b->tape};
    ms_locals f = ms_locals_begin(&b->tape);
    ms_tensor *y = ms_local(&f, parameter(b, 4));
    ms_soft_cap(&model, &f, y);
    ms_tensor result = ms_locals_end(&f, y);
    ms_retain(&b->tape, result);
    expect_events(b, "+0 +1 +2 -1 +3");
    ms_backward(&b->tape, result, fresh(b, 4));
    expect_events(b, "+0 +1 +2 -1 +3 +4 +5 -4 +6 -5 -2 +7 -6");
}

/* tanh(x), which nothing uses: what it saved, its result, goes when it is forgotten, and backward
 * does not come by. */
static void a_forgotten_part_frees_what_it_saved(void **state)
{
    bench *b = *state;
    ms_tensor x = parameter(b, 4);
    uint32_t first = b->tape.nodes.count;
    ms_consume(&b->tape, ms_tanh(&b->tape, x));
    uint32_t end = b->tape.nodes.count;
    ms_tensor y = ms_neg(&b->tape, x);
    ms_retain(&b->tape, y);
    expect_events(b, "+0 +1 +2");
    ms_graph_forget(&b->tape, first, end);
    expect_events(b, "+0 +1 +2 -1");
    assert_int_equal(b->tape.forgotten.count, 1);
    ms_backward(&b->tape, y, fresh(b, 4));
    expect_events(b, "+0 +1 +2 -1 +3 +4 -3");
    ms_graph_drop(&b->tape);
    assert_int_equal(b->tape.forgotten.count, 0);
}

/* The next micro-step adds into .grad and drops the new one. */
static void the_second_micro_step_accumulates(void **state)
{
    bench *b = *state;
    ms_tensor x = parameter(b, 4);
    for (int i = 0; i < 2; i++) {
        ms_tensor y = ms_neg(&b->tape, x);
        ms_retain(&b->tape, y);
        ms_backward(&b->tape, y, fresh(b, 4));
        ms_release(&b->tape, y);
        b->tape.nodes.count = 0;
    }
    expect_events(b, "+0 +1 +2 +3 -2 -1 +4 +5 +6 -5 -6 -4");
}

/* ---- checkpoints ---- */

static ms_tensor region(ms_tape *tape, void *context, uint64_t number, ms_tensor input)
{
    (void)number;
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *x = ms_argument(&f, input);
    ms_assign(&f, x, ms_silu(tape, *x));
    ms_assign(&f, x, ms_silu(tape, *x));
    ++*(int *)context;
    return ms_locals_end(&f, x);
}

/* silu(silu(-w)): forward keeps the region's input alone; backward runs the region again up to the
 * second silu's input, which is the last thing anybody saved. */
static void a_checkpoint_keeps_its_input_and_stops_early(void **state)
{
    bench *b = *state;
    int runs = 0;
    ms_tensor input = ms_neg(&b->tape, parameter(b, 4));
    ms_region r = {.run = region, .context = &runs};
    ms_tensor y = ms_checkpoint_run(&b->tape, &r, input);
    ms_retain(&b->tape, y);
    expect_events(b, "+0 +1 +2 +3 -2");
    ms_backward(&b->tape, y, fresh(b, 4));
    assert_int_equal(runs, 2);
    /* 5: the recomputed input of the second silu. 6 and 7: gradients; 1 goes with the last holder.
     */
    expect_events(b, "+0 +1 +2 +3 -2 +4 +5 +6 -5 -4 +7 -6 -1 +8 -7");
}

/* ---- reshapes ---- */

static void a_transposed_tensor_is_copied(void **state)
{
    bench *b = *state;
    ms_dim n = ms_dim_number(&b->trace.symbols, 16);
    ms_tensor flat = ms_reshape(&b->tape, ms_transpose(&b->tape, fresh(b, 4), 0, 1), MS_SHAPE(n));
    ms_consume(&b->tape, flat);
    expect_events(b, "+0 +1 -0 -1");
}

static void a_contiguous_tensor_is_not(void **state)
{
    bench *b = *state;
    ms_dim n = ms_dim_number(&b->trace.symbols, 16);
    ms_consume(&b->tape, ms_reshape(&b->tape, fresh(b, 4), MS_SHAPE(n)));
    expect_events(b, "+0 -0");
}

/* ---- what encoders and classifiers add: figures of PyTorch's own event lists ---- */

/* (-x) += y allocates nothing; both get the gradient. */
static void an_operator_in_place_allocates_nothing(void **state)
{
    bench *b = *state;
    ms_tensor x = parameter(b, 4), y = parameter(b, 4);
    ms_tensor sum = ms_add_(&b->tape, ms_neg(&b->tape, x), y);
    expect_events(b, "+0 +1 +2");
    ms_retain(&b->tape, sum);
    ms_backward(&b->tape, sum, fresh(b, 4));
    assert_int_equal(ms_info(&b->tape, sum)->storage, 2);
    assert_true(b->tape.parameters.items[0].grad && b->tape.parameters.items[1].grad);
}

/* x[:, i] is a view; its gradient is of the full size. */
static void a_selection_is_a_view(void **state)
{
    bench *b = *state;
    ms_tensor x = parameter(b, 4), y = ms_select(&b->tape, x, 1);
    assert_int_equal(ms_info(&b->tape, y)->shape.rank, 1);
    assert_int_equal(ms_info(&b->tape, y)->strides[0], 4);
    ms_dim n = ms_dim_number(&b->trace.symbols, 4);
    ms_retain(&b->tape, y);
    ms_backward(&b->tape, y, ms_empty(&b->tape, MS_SHAPE(n), MS_DTYPE_F32));
    expect_events(b, "+0 +1 +2 -1");
    assert_int_equal(ms_tensor_bytes(&b->tape, b->tape.parameters.items[0].grad), 64);
}

/* x[[i]]: the index is saved, and backward sorts it: remainder, product, keys, order, range. */
static void an_index_is_sorted_in_backward(void **state)
{
    bench *b = *state;
    ms_tensor x = parameter(b, 4), y = ms_index_one(&b->tape, x, 0);
    ms_dim one = ms_dim_number(&b->trace.symbols, 1), n = ms_dim_number(&b->trace.symbols, 4);
    ms_retain(&b->tape, y);
    assert_int_equal(ms_tensor_bytes(&b->tape, y), 16);
    ms_backward(&b->tape, y, ms_empty(&b->tape, MS_SHAPE(one, n), MS_DTYPE_F32));
    expect_events(b, "+0 +1 +2 +3 +4 +5 +6 -5 +7 +8 +9 +10 -10 -9 -8 -7 -6 -3 -1");
}

/* Without weight and bias only the input, mean and deviation are saved. */
static void a_norm_without_parameters(void **state)
{
    bench *b = *state;
    ms_tensor x = parameter(b, 4), y = ms_layer_norm(&b->tape, x, 0, 0);
    ms_retain(&b->tape, y);
    expect_events(b, "+0 +1 +2 +3");
    assert_int_equal(b->tape.nodes.items[0].saved_count, 3);
    ms_backward(&b->tape, y, fresh(b, 4));
    expect_events(b, "+0 +1 +2 +3 +4 +5 -4 -2 -3");
}

/* ---- failures stick ---- */

static void an_overflow_is_a_status(void **state)
{
    bench *b = *state;
    ms_tensor huge = fresh(b, UINT64_C(1) << 40);
    assert_int_equal(huge, 0);
    assert_int_equal(b->tape.status, MS_ERR_OVERFLOW);
    assert_int_equal(ms_neg(&b->tape, fresh(b, 4)), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_temporary_dies_with_its_user),
        TEST(a_local_lives_until_it_is_assigned),
        TEST(an_argument_outlives_the_locals),
        TEST(a_view_keeps_its_storage),
        TEST(a_shared_gradient_is_added_out_of_place),
        TEST(an_own_gradient_is_added_in_place),
        TEST(a_running_sum_is_undone_backwards),
        TEST(a_system_keeps_its_matrix),
        TEST(a_cap_saves_one_result),
        TEST(a_forgotten_part_frees_what_it_saved),
        TEST(the_second_micro_step_accumulates),
        TEST(a_checkpoint_keeps_its_input_and_stops_early),
        TEST(a_transposed_tensor_is_copied),
        TEST(a_contiguous_tensor_is_not),
        TEST(an_operator_in_place_allocates_nothing),
        TEST(a_selection_is_a_view),
        TEST(an_index_is_sorted_in_backward),
        TEST(a_norm_without_parameters),
        TEST(an_overflow_is_a_status),
    };
    return cmocka_run_group_tests_name("tape", tests, NULL, NULL);
}
