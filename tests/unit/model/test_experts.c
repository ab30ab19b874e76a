/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Operators of mixtures of experts: what each asks for, forward or backward, is what PyTorch 2.11
 * asked for (null device; compute capability and multiprocessors as in the row). And how many
 * tokens each expert gets.
 */
#include "torch/ops/moe/routing.h"
#include "torch/ops/moe/experts.h"

#include <inttypes.h>
#include <string.h>

#include "input/config/run/experts.h"
#include "torch/ops/moe/grouped.h"
#include "torch/ops/moe/rows.h"
#include "unit/support.h"

typedef struct bench {
    ms_device device;
    ms_run_config run;
    ms_trace trace;
    ms_tape tape;
    uint32_t first_event; /* behind the last tensor that the test made */
} bench;

static ms_tensor make(bench *b, uint32_t rank, const uint64_t *sizes, ms_dtype dtype, bool trains)
{
    ms_shape shape = {.rank = rank};
    for (uint32_t i = 0; i < rank; i++)
        shape.dims[i] = ms_dim_number(&b->trace.symbols, sizes[i]);
    ms_tensor tensor = ms_empty(&b->tape, shape, dtype);
    ms_retain(&b->tape, tensor);
    if (trains) {
        ms_info(&b->tape, tensor)->leaf = b->tape.parameters.count;
        ms_info(&b->tape, tensor)->requires_grad = true;
        assert_true(ms_vec_push(&b->tape.parameters, (ms_parameter){.tensor = tensor}));
    }
    b->first_event = b->trace.events.count;
    return tensor;
}
#define MAKE(b, dtype, trains, ...)                                                                \
    make((b), sizeof((uint64_t[]){__VA_ARGS__}) / 8, (const uint64_t[]){__VA_ARGS__}, (dtype),     \
         (trains))

static ms_dim number(bench *b, uint64_t value)
{
    return ms_dim_number(&b->trace.symbols, value);
}

/* ---- the operators: each yields its result, held ---- */

typedef ms_tensor (*operator_fn)(bench *b, const uint64_t *n);

static ms_tensor held(bench *b, ms_tensor tensor)
{
    ms_retain(&b->tape, tensor);
    return tensor;
}

static ms_tensor sort(bench *b, const uint64_t *n)
{
    ms_tensor out[2];
    ms_sort(&b->tape, MAKE(b, MS_DTYPE_I64, false, n[0]), out);
    ms_retain(&b->tape, out[1]);
    return held(b, out[0]);
}

static ms_tensor topk(bench *b, const uint64_t *n)
{
    ms_tensor out[2];
    ms_topk(&b->tape, MAKE(b, MS_DTYPE_F32, true, n[0], n[1]), number(b, n[2]), out);
    ms_retain(&b->tape, out[1]);
    return held(b, out[0]);
}

static ms_tensor histogram(bench *b, const uint64_t *n)
{
    return held(b, ms_histogram(&b->tape, MAKE(b, MS_DTYPE_I32, false, n[0]), number(b, n[1])));
}

static ms_tensor offsets(bench *b, const uint64_t *n)
{
    return held(b, ms_offsets(&b->tape, MAKE(b, MS_DTYPE_I32, false, n[0])));
}

static ms_tensor divide(bench *b, const uint64_t *n)
{
    ms_tensor a = MAKE(b, MS_DTYPE_F32, true, n[0], n[1]);
    return held(b, ms_div_into(&b->tape, a, MAKE(b, MS_DTYPE_F32, true, n[0], 1)));
}

static ms_tensor rows(bench *b, const uint64_t *n)
{
    ms_tensor a = MAKE(b, MS_DTYPE_BF16, true, n[0], 8);
    return held(b, ms_index_rows(&b->tape, a, MAKE(b, MS_DTYPE_I64, false, n[1])));
}

static ms_tensor pairs(bench *b, const uint64_t *n)
{
    ms_tensor a = MAKE(b, MS_DTYPE_BF16, true, n[0], n[1], 1);
    ms_tensor first = MAKE(b, MS_DTYPE_I64, false, n[2]);
    return held(b, ms_index_pairs(&b->tape, a, first, MAKE(b, MS_DTYPE_I64, false, n[2])));
}

static ms_tensor selected(bench *b, const uint64_t *n)
{
    return held(b, ms_select(&b->tape, MAKE(b, MS_DTYPE_BF16, true, n[0], n[1], n[2]), 0));
}

static ms_tensor where(bench *b, const uint64_t *n)
{
    const ms_shape shape = MS_SHAPE(number(b, 2), number(b, n[0]));
    return held(b, ms_nonzero(&b->tape, &shape, false, number(b, n[1])));
}

static ms_tensor largest(bench *b, const uint64_t *n)
{
    ms_tensor out[2];
    ms_max_last(&b->tape, MAKE(b, MS_DTYPE_BF16, true, 2, n[0], n[1], n[2]), true, out);
    ms_retain(&b->tape, out[1]);
    return held(b, out[0]);
}

static ms_tensor filled(bench *b, const uint64_t *n)
{
    ms_tensor a = MAKE(b, MS_DTYPE_F32, true, n[0], n[1]);
    ms_tensor keep = MAKE(b, MS_DTYPE_F32, false, n[0], n[1]);
    return held(b, ms_masked_fill(&b->tape, a, ms_where_zero(&b->tape, keep)));
}

static ms_tensor gathered(bench *b, const uint64_t *n)
{
    ms_tensor a = MAKE(b, MS_DTYPE_F32, true, n[0], n[1]);
    return held(b, ms_gather_last(&b->tape, a, MAKE(b, MS_DTYPE_I64, false, n[0], n[2])));
}

/* Every second of so many columns; one bound or two. */
static ms_tensor clamped(bench *b, const uint64_t *n)
{
    ms_tensor a = ms_slice_every_second(&b->tape, MAKE(b, MS_DTYPE_BF16, true, n[0], n[1]));
    return held(b, ms_clamp(&b->tape, a, (uint32_t)n[2]));
}

static ms_tensor difference(bench *b, const uint64_t *n)
{
    ms_tensor a = MAKE(b, MS_DTYPE_BF16, true, 2, n[0], n[1], n[2]);
    return held(b, ms_sub(&b->tape, a, MAKE(b, MS_DTYPE_BF16, true, 2, n[0], n[1], 1)));
}

static ms_tensor turned(bench *b, const uint64_t *n)
{
    ms_tensor a = MAKE(b, MS_DTYPE_C64, true, 2, n[0], n[1], n[2]);
    return held(b, ms_mul_complex(&b->tape, a, MAKE(b, MS_DTYPE_C64, false, 1, 1, n[1], n[2])));
}

static ms_tensor polar(bench *b, const uint64_t *n)
{
    return held(b, ms_polar(&b->tape, MAKE(b, MS_DTYPE_F32, false, 1, n[0], n[1])));
}

/* The first of two parts, and the last dimension. */
static ms_tensor split(bench *b, const uint64_t *n)
{
    ms_tensor out[2];
    ms_tensor a = MAKE(b, MS_DTYPE_BF16, true, 2, 6, n[0], n[2]);
    ms_split_at(&b->tape, a, number(b, n[1]), out);
    ms_retain(&b->tape, out[1]);
    return held(b, out[0]);
}

/* Into a tensor with a gradient, or without. */
static ms_tensor copied(bench *b, const uint64_t *n)
{
    ms_tensor base = MAKE(b, MS_DTYPE_BF16, n[3], 2, 6, n[0], n[2]);
    return held(b, ms_copy_into(&b->tape, base, MAKE(b, MS_DTYPE_BF16, true, 2, 6, n[0], n[1])));
}

/* Experts, width in, width out, rows. */
static ms_tensor grouped(bench *b, const uint64_t *n)
{
    ms_tensor x = MAKE(b, MS_DTYPE_BF16, true, n[3], n[1]);
    ms_tensor weights = MAKE(b, MS_DTYPE_BF16, true, n[0], n[2], n[1]);
    ms_tensor ends = MAKE(b, MS_DTYPE_I32, false, n[0]);
    return held(b, ms_grouped_mm(&b->tape, x, ms_transpose(&b->tape, weights, 1, 2), ends));
}

/* ---- rows ---- */

typedef struct request_case {
    const char *label;
    uint32_t capability, multiprocessors;
    operator_fn run;
    uint64_t n[4];
    const char *forward, *backward; /* requests and frees in bytes; NULL: not looked at */
} request_case;

/* What was asked for and freed since the last tensor that the test made. */
static void expect(bench *b, const char *expected)
{
    char text[512] = "";
    size_t length = 0;
    for (uint32_t i = b->first_event; i < b->trace.events.count; i++) {
        ms_event e = b->trace.events.items[i];
        length += (size_t)snprintf(text + length, sizeof text - length, "%s%c%" PRIu64,
                                   length ? " " : "", e.kind == MS_EVENT_ALLOC ? '+' : '-',
                                   b->trace.storages.items[e.id].bytes);
    }
    assert_string_equal(text, expected);
}

static void run_backward(bench *b, ms_tensor result)
{
    ms_tensor out[MS_MAX_EDGES] = {0};
    ms_tensor grad = ms_empty_like(&b->tape, result, (ms_dtype)ms_info(&b->tape, result)->dtype);
    ms_node node = b->tape.nodes.items[b->tape.nodes.count - 1];
    b->first_event = b->trace.events.count;
    node.op->backward(&b->tape, &node, &grad, out);
}

static void check_requests(void **state)
{
    const request_case *c = *state;
    bench b = {
        .device = {.compute_capability = c->capability, .multiprocessors = c->multiprocessors}};
    b.run.device = &b.device;
    assert_true(ms_trace_init(&b.trace) &&
                ms_tape_init(&b.tape, &b.trace, (ms_tape_options){.device = &b.device}));
    b.tape.grad_enabled = true;
    b.tape.workspaces[0][MS_WORKSPACE_CUBLAS] = MAKE(&b, MS_DTYPE_U8, false, 1);
    ms_tensor result = c->run(&b, c->n);
    if (c->forward)
        expect(&b, c->forward);
    if (c->backward) {
        run_backward(&b, result);
        expect(&b, c->backward);
    }
    assert_int_equal(b.tape.status, MS_OK);
    ms_tape_free(&b.tape);
    ms_trace_free(&b.trace);
}

/* clang-format off */
static const request_case requests[] = {
    {"sort in place", 80, 108, sort, {800}, "+6400 +6400 +6400 -6400", NULL},
    {"sort of 4096", 80, 108, sort, {4096}, "+32768 +32768 +32768 -32768", NULL},
    {"sort of 4097", 80, 108, sort, {4097}, "+32776 +32776 +32776 +84991 -84991 -32776", NULL},
    {"sort of 16384 on 9.0", 90, 108, sort, {16384}, "+131072 +131072 +131072 +283135 -283135 -131072", NULL},
    {"topk", 80, 108, topk, {400, 128, 8}, "+12800 +25600", "+204800"},
    {"histc", 80, 108, histogram, {262144, 60}, "+240", NULL},
    {"cumsum", 80, 108, offsets, {512}, "+2048 +1023 -1023", NULL},
    {"division in place", 80, 108, divide, {400, 2}, "+3200", "+3200 +3200 +3200 +3200 -3200 -3200 -3200 +3200"},
    {"rows, one tile", 80, 108, rows, {400, 800}, "+12800", "+6400 +6400 +6400 -6400 +6400 +6400 +6400 +1 -1 -6400 -6400 -6400 -6400"},
    {"rows, two passes", 80, 108, rows, {2048, 16384}, "+262144",
     "+32768 +131072 +131072 -131072 +131072 +131072 +131072 +271871 -271871 -131072 -131072 -131072 -131072"},
    {"rows, one pass", 80, 108, rows, {255, 4096}, "+65536",
     "+4080 +32768 +32768 -32768 +32768 +32768 +32768 +4607 -4607 -32768 -32768 -32768 -32768"},
    {"pairs", 80, 108, pairs, {144, 2, 48}, "+96",
     "+576 +384 +384 -384 +384 +384 -384 -384 +384 +384 +384 +1 -1 -384 -384 -384 -384"},
    {"select", 80, 108, selected, {6, 96, 48}, "", "+55296"},
    {"where", 80, 108, where, {72, 48}, "+1152 +4 +1 -1 +768 +1023 -1023 -4 -1152", NULL},
    {"max of bf16", 80, 108, largest, {6, 200, 201}, "+4800 +19200", "+964800"},
    {"masked fill", 80, 108, filled, {400, 4}, "+1600 +1600 -1600 +6400", "+6400"},
    {"gather", 80, 108, gathered, {400, 4, 2}, "+3200", "+6400"},
    {"clamp, one bound", 80, 108, clamped, {800, 352, 1}, "+281600", "+2 +140800 +281600 -140800 -2"},
    {"clamp, two bounds", 80, 108, clamped, {800, 352, 2}, "+281600", "+2 +140800 +140800 +281600 -140800 -140800 -2"},
    {"difference", 80, 108, difference, {6, 200, 201}, "+964800", "+964800"},
    {"complex product", 80, 108, turned, {6, 200, 4}, "+76800", "+6400 +76800 -6400"},
    {"polar", 80, 108, polar, {200, 4}, "+3200 +6400 -3200", NULL},
    {"split in two", 80, 108, split, {200, 16, 32}, "", "+153600"},
    {"copy into a part", 80, 108, copied, {200, 8, 24, 1}, "", "+115200 +38400 +38400 -38400"},
    {"copy into a new tensor", 80, 108, copied, {200, 16, 24, 0}, "", "+115200 +76800 -115200"},
    {"grouped, one by one", 80, 108, grouped, {4, 96, 352, 800}, "+563200", "+270336 +153600"},
    {"grouped on 9.0", 90, 132, grouped, {4, 96, 352, 800}, "+563200 +240 +67584 -67584 -240",
     "+270336 +240 +67584 -67584 -240 +153600 +240 +67584 -67584 -240"},
    {"many grouped on 9.0", 90, 78, grouped, {128, 2048, 1536, 16384}, "+50331648 +7680 +39936 -39936 -7680",
     "+805306368 +7680 +39936 -39936 -7680 +67108864 +7680 +39936 -39936 -7680"},
    {"grouped on 10.0", 100, 148, grouped, {4, 96, 352, 800}, "+563200 +240 +871424 -871424 -240",
     "+270336 +240 +795648 -795648 -240 +153600 +240 +795648 -795648 -240"},
    {"many grouped on 10.0", 100, 148, grouped, {128, 2048, 1536, 16384}, "+50331648 +7680 +795648 -795648 -7680",
     "+805306368 +7680 +871424 -871424 -7680 +67108864 +7680 +795648 -795648 -7680"},
    {"grouped on 12.0", 120, 170, grouped, {4, 96, 352, 800}, "+563200", "+270336 +153600"},
};
/* clang-format on */

/* ---- routing ---- */

typedef struct routing_case {
    const char *label;
    ms_routing_kind routing;
    uint64_t tokens, each, count;
    uint64_t rows[8]; /* counted from the indices of tests/oracle/routing.py */
} routing_case;

static void check_routing(void **state)
{
    const routing_case *c = *state;
    for (uint64_t i = 0; i < c->count; i++)
        assert_int_equal(ms_expert_rows(c->routing, c->tokens, c->each, c->count, i), c->rows[i]);
}

static const routing_case routings[] = {
    {"balanced: 5 tokens, 2 of 4", MS_ROUTING_BALANCED, 5, 2, 4, {3, 3, 2, 2}},
    {"balanced: 144 tokens, 2 of 6", MS_ROUTING_BALANCED, 144, 2, 6, {48, 48, 48, 48, 48, 48}},
    {"skewed: 5 tokens, 2 of 6", MS_ROUTING_SKEWED, 5, 2, 6, {4, 4, 0, 0, 1, 1}},
    {"skewed: 5 tokens, 3 of 4", MS_ROUTING_SKEWED, 5, 3, 4, {5, 4, 5, 1}},
    {"skewed: 4 tokens, 3 of 3", MS_ROUTING_SKEWED, 4, 3, 3, {4, 4, 4}},
    {"skewed: 7 tokens, 1 of 5", MS_ROUTING_SKEWED, 7, 1, 5, {5, 0, 0, 1, 1}},
    {"skewed: 1 tokens, 1 of 4", MS_ROUTING_SKEWED, 1, 1, 4, {0, 0, 0, 1}},
    {"skewed: 3 tokens, 1 of 2", MS_ROUTING_SKEWED, 3, 1, 2, {2, 1}},
    {"skewed: 6 tokens, 4 of 8", MS_ROUTING_SKEWED, 6, 4, 8, {6, 6, 5, 5, 0, 0, 1, 1}},
    {"skewed: 2 tokens, 1 of 1", MS_ROUTING_SKEWED, 2, 1, 1, {2}},
};

/* Every token has all its experts, and none of them twice. */
static void check_tokens(ms_routing_kind routing, uint64_t count, uint64_t each, uint64_t tokens)
{
    uint64_t sum = 0;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t n = ms_expert_rows(routing, tokens, each, count, i);
        assert_true(n <= tokens);
        sum += n;
    }
    assert_int_equal(sum, tokens * each);
}

static void every_token_is_routed(void **state)
{
    (void)state;
    for (uint64_t count = 1; count <= 8; count++)
        for (uint64_t each = 1; each <= count; each++)
            for (uint64_t tokens = 1; tokens <= 9; tokens++) {
                check_tokens(MS_ROUTING_BALANCED, count, each, tokens);
                check_tokens(MS_ROUTING_SKEWED, count, each, tokens);
            }
}

int main(void)
{
    struct CMUnitTest tests[COUNT_OF(requests) + COUNT_OF(routings) + 1];
    size_t count = ADD_ROWS(tests, check_requests, requests);
    count += ADD_ROWS(tests + count, check_routing, routings);
    tests[count++] = (struct CMUnitTest)cmocka_unit_test(every_token_is_routed);
    return _cmocka_run_group_tests("experts", tests, count, NULL, NULL);
}
