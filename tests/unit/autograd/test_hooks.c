/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The four points of hooks: who is called, in what order, and with what.
 */
#include "torch/autograd/hooks.h"

#include <string.h>

#include "torch/autograd/engine.h"
#include "torch/autograd/graph.h"
#include "torch/ops/ops.h"
#include "unit/support.h"

typedef struct bench {
    ms_trace trace;
    ms_tape tape;
    char log[256];
    ms_tensor away[4]; /* what packing hooks hold */
    uint32_t away_count;
} bench;

static const ms_device gpu = {.name = "gpu", .compute_capability = 80, .multiprocessors = 108};

static char first[] = "a", second[] = "b"; /* contexts */

static int set_up(void **state)
{
    bench *b = calloc(1, sizeof *b);
    const ms_tape_options options = {.device = &gpu};
    if (!b || !ms_trace_init(&b->trace) || !ms_tape_init(&b->tape, &b->trace, options))
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

/* Appends "<who><what> " to the log; the bench is found from its tape. */
static void note(ms_tape *tape, const char *who, const char *what)
{
    bench *b = (bench *)((char *)tape - offsetof(bench, tape));
    size_t length = strlen(b->log);
    snprintf(b->log + length, sizeof b->log - length, "%s%s ", who, what);
}

static ms_tensor parameter(bench *b, uint32_t scope)
{
    ms_dim dim = ms_dim_number(&b->trace.symbols, 4);
    ms_tensor tensor = ms_empty(&b->tape, MS_SHAPE(dim, dim), MS_DTYPE_F32);
    ms_retain(&b->tape, tensor);
    ms_info(&b->tape, tensor)->leaf = b->tape.parameters.count;
    ms_info(&b->tape, tensor)->requires_grad = true;
    assert_true(ms_vec_push(&b->tape.parameters, (ms_parameter){.tensor = tensor, .scope = scope}));
    return tensor;
}

static void run_backward(bench *b, ms_tensor result)
{
    ms_retain(&b->tape, result);
    ms_backward(&b->tape, result, ms_empty_like(&b->tape, result, MS_DTYPE_F32));
    ms_release(&b->tape, result);
    assert_int_equal(b->tape.status, MS_OK);
}

/* ---- gradients ---- */

static void accumulated(ms_tape *tape, void *who, uint32_t index)
{
    note(tape, who, tape->parameters.items[index].grad ? "+" : "-");
    ms_release(tape, tape->parameters.items[index].grad);
    tape->parameters.items[index].grad = 0;
}

static void every_listener_hears_of_a_gradient(void **state)
{
    bench *b = *state;
    uint32_t scope = ms_scope_add(&b->tape, MS_NONE, "m", MS_NONE);
    ms_hooks_push_gradient(&b->tape, (ms_gradient_hook){accumulated, first});
    ms_hooks_push_gradient(&b->tape, (ms_gradient_hook){accumulated, second});
    run_backward(b, ms_neg(&b->tape, parameter(b, scope)));
    assert_string_equal(b->log, "a+ b- ");
    ms_hooks_pop_gradient(&b->tape);
    run_backward(b, ms_neg(&b->tape, parameter(b, scope)));
    assert_string_equal(b->log, "a+ b- a+ ");
}

/* ---- saved tensors ---- */

static bool pack(ms_tape *tape, void *who, uint32_t number, ms_tensor tensor, uint32_t *packed)
{
    bench *b = (bench *)((char *)tape - offsetof(bench, tape));
    note(tape, who, "p");
    *packed = b->away_count;
    ms_retain(tape, tensor);
    b->away[b->away_count++] = tensor;
    return number == 0;
}

static ms_tensor unpack(ms_tape *tape, void *who, uint32_t number, uint32_t packed)
{
    bench *b = (bench *)((char *)tape - offsetof(bench, tape));
    (void)number;
    note(tape, who, "u");
    return b->away[packed];
}

static void drop(ms_tape *tape, void *who, uint32_t number, uint32_t count)
{
    (void)number;
    note(tape, who, count == 1 ? "d1" : "d?");
}

static void the_top_packs_what_is_saved(void **state)
{
    bench *b = *state;
    ms_tape *tape = &b->tape;
    ms_tensor w = parameter(b, MS_NONE);
    ms_saved_hooks hooks = {.pack = pack, .unpack = unpack, .drop = drop, .context = first};
    ms_hooks_push_saved(tape, hooks);
    hooks.context = second;
    hooks.saving = MS_SAVING_NOTHING;
    ms_hooks_push_saved(tape, hooks);
    ms_tensor inner = ms_silu(tape, w);
    assert_int_equal(ms_hooks_saving(tape), MS_SAVING_NOTHING);
    ms_hooks_pop_saved(tape);
    assert_int_equal(ms_hooks_saving(tape), MS_SAVING_TENSORS);
    ms_tensor outer = ms_silu(tape, inner);
    ms_hooks_pop_saved(tape);
    ms_tensor last = ms_silu(tape, outer);
    assert_int_equal(tape->nodes.items[2].hooks, MS_NONE);
    run_backward(b, last);
    assert_string_equal(b->log, "bp ap au ad1 bu bd1 ");
}

/* ---- modules ---- */

static void log_module(ms_tape *tape, const char *who, const char *what, uint32_t scope)
{
    note(tape, who, what);
    note(tape, "",
         scope == MS_NONE ? "*" : tape->trace->names.items[tape->trace->scopes.items[scope].name]);
}

static void before_forward(ms_tape *tape, void *who, uint32_t scope)
{
    log_module(tape, who, "<", scope);
}

static void after_forward(ms_tape *tape, void *who, uint32_t scope)
{
    log_module(tape, who, ">", scope);
}

static void before_backward(ms_tape *tape, void *who, uint32_t scope)
{
    log_module(tape, who, "[", scope);
}

static void after_backward(ms_tape *tape, void *who, uint32_t scope)
{
    log_module(tape, who, "]", scope);
}

static void modules_are_told_where_a_pass_is(void **state)
{
    bench *b = *state;
    ms_tape *tape = &b->tape;
    ms_module_hooks hooks = {.before_forward = before_forward,
                             .after_forward = after_forward,
                             .before_backward = before_backward,
                             .after_backward = after_backward,
                             .context = first};
    uint32_t x = ms_scope_add(tape, MS_NONE, "x", 0), y = ms_scope_add(tape, MS_NONE, "y", 1);
    ms_hooks_push_module(tape, hooks);
    hooks = (ms_module_hooks){
        .before_forward = before_forward, .before_backward = before_backward, .context = second};
    ms_hooks_push_module(tape, hooks);
    ms_tensor w = parameter(b, MS_NONE);
    ms_module_begin(tape, ms_layer_scope(tape, 0));
    ms_tensor inner = ms_silu(tape, w);
    ms_module_end(tape, x);
    ms_module_begin(tape, ms_layer_scope(tape, 1));
    ms_tensor outer = ms_silu(tape, inner);
    ms_module_end(tape, y);
    assert_string_equal(b->log, "a< x b< x a> x a< y b< y a> y ");
    b->log[0] = '\0';
    run_backward(b, outer);
    assert_string_equal(b->log, "b[ y a[ y b[ x a] y a[ x a] x a] * ");
}

/* ---- operators ---- */

static void begin_op(ms_tape *tape, void *who, uint32_t number, const ms_op *op)
{
    note(tape, who, "<");
    note(tape, "", op->name);
    tape->muted = number > 0;
}

static void end_op(ms_tape *tape, void *who, uint32_t number)
{
    (void)number;
    note(tape, who, ">");
    tape->muted = false;
}

static void operators_begin_and_end(void **state)
{
    bench *b = *state;
    ms_tape *tape = &b->tape;
    ms_tensor w = parameter(b, MS_NONE);
    ms_hooks_push_op(tape, (ms_op_hooks){begin_op, end_op, first, 0});
    ms_hooks_push_op(tape, (ms_op_hooks){begin_op, end_op, second, 1});
    ms_tensor muted = ms_neg(tape, w);
    ms_hooks_pop_op(tape);
    ms_tensor heard = ms_neg(tape, w);
    ms_hooks_pop_op(tape);
    ms_consume(tape, ms_neg(tape, w));
    assert_string_equal(b->log, "a< neg b< neg b> a> a< neg a> ");
    assert_int_equal(b->trace.storages.items[ms_info(tape, muted)->storage].bytes, 0);
    assert_int_equal(b->trace.storages.items[ms_info(tape, heard)->storage].bytes, 64);
}

/* ---- state ---- */

static int installed, dropped, freed;

static void install(ms_tape *tape, void *owned)
{
    (void)tape;
    installed += *(int *)owned == 0;
}

static void drop_graph(void *owned)
{
    dropped += *(int *)owned;
}

static void free_owned(void *owned)
{
    freed += *(int *)owned;
}

static void state_lives_as_long_as_the_tape(void **state)
{
    static const ms_state_kind kind = {sizeof(int), install, drop_graph, free_owned};
    bench *b = *state;
    installed = dropped = freed = 0;
    assert_null(ms_hooks_find_state(&b->tape, &kind));
    int *owned = ms_hooks_state(&b->tape, &kind);
    assert_non_null(owned);
    *owned = 3;
    assert_ptr_equal(ms_hooks_state(&b->tape, &kind), owned);
    assert_ptr_equal(ms_hooks_find_state(&b->tape, &kind), owned);
    ms_graph_drop(&b->tape);
    ms_hooks_free(&b->tape.hooks);
    assert_int_equal(installed, 1);
    assert_int_equal(dropped, 3);
    assert_int_equal(freed, 3);
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(every_listener_hears_of_a_gradient), CASE(the_top_packs_what_is_saved),
        CASE(modules_are_told_where_a_pass_is),   CASE(operators_begin_and_end),
        CASE(state_lives_as_long_as_the_tape),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
