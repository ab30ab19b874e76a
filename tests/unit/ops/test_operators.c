/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Operator policies and the knapsack below them, against the figures of PyTorch's own tests
 * (test_sac_ilp.py, test_ac_knapsack.py).
 */
#include "decide/plan/operators/operators.h"

#include <string.h>

#include "base/json/value.h"
#include "decide/plan/solver/knapsack.h"
#include "unit/support.h"

/* ---- policies ---- */

static const char eight_operators[] =
    "{\"func_names\": [\"copy_\", \"add\", \"div\", \"mm\", \"native_dropout\", \"linear\", "
    "\"t\", \"relu_\"],"
    " \"runtimes\": [5, 5, 8, 15, 15, 9, 1, 5], \"memory\": [0, 100, 100, 120, 0, 100, 0, 0],"
    " \"view_like_ops\": [6], \"rand_ops\": [4], \"inplace_ops\": [[0, 0], [7, 5]],"
    " \"force_store_random\": false}";

typedef struct policy_case {
    const char *label;
    const char *text;
    double fraction;
    ms_status status;
    const char *save; /* 1: saved */
} policy_case;

#define OPERATORS(rest)                                                                            \
    "{\"func_names\": [\"a\", \"b\", \"c\"], \"runtimes\": [1, 2, 4], \"memory\": [10, 10, "       \
    "10], " rest "}"

static const policy_case policies[] = {
    {"nothing", eight_operators, 0, MS_OK, "10001000"},
    {"100 of 420", eight_operators, 100. / 420, MS_OK, "10001101"},
    {"120 of 420", eight_operators, 120. / 420, MS_OK, "10011000"},
    {"200 of 420", eight_operators, 200. / 420, MS_OK, "10101101"},
    {"220 of 420", eight_operators, 220. / 420, MS_OK, "10011101"},
    {"320 of 420", eight_operators, 320. / 420, MS_OK, "10111101"},
    {"everything", eight_operators, 1, MS_OK, "11111101"},
    {"random ones together",
     OPERATORS("\"view_like_ops\": [], \"rand_ops\": [0, 2], \"inplace_ops\": []"), 1. / 3, MS_OK,
     "010"},
    {"random ones forced",
     OPERATORS("\"view_like_ops\": [], \"rand_ops\": [0], \"inplace_ops\": [], "
               "\"force_store_random\": true"),
     1. / 3, MS_OK, "100"},
    {"forced over the budget",
     OPERATORS("\"view_like_ops\": [], \"rand_ops\": [0, 1], \"inplace_ops\": [], "
               "\"force_store_random\": true"),
     1. / 3, MS_ERR_INFEASIBLE, NULL},
    {"in place on a view",
     OPERATORS("\"view_like_ops\": [0], \"rand_ops\": [], \"inplace_ops\": [[1, 0]]"), 1, MS_OK,
     "001"},
    {"saved and a view",
     OPERATORS("\"view_like_ops\": [0], \"rand_ops\": [], \"inplace_ops\": [[0, 0]]"), 1,
     MS_ERR_INFEASIBLE, NULL},
    {"saved and tied to a view",
     OPERATORS("\"view_like_ops\": [0], \"rand_ops\": [], \"inplace_ops\": [[1, 1], [1, 0]]"), 1,
     MS_ERR_INFEASIBLE, NULL},
    {"missing list", OPERATORS("\"view_like_ops\": [], \"rand_ops\": []"), 1, MS_ERR_CONFIG, NULL},
    {"no such operator", OPERATORS("\"view_like_ops\": [3], \"rand_ops\": [], \"inplace_ops\": []"),
     1, MS_ERR_CONFIG, NULL},
    {"no pair", OPERATORS("\"view_like_ops\": [], \"rand_ops\": [], \"inplace_ops\": [[1]]"), 1,
     MS_ERR_CONFIG, NULL},
    {"negative memory",
     "{\"func_names\": [\"a\"], \"runtimes\": [1], \"memory\": [-1], \"view_like_ops\": [], "
     "\"rand_ops\": [], \"inplace_ops\": []}",
     1, MS_ERR_CONFIG, NULL},
    {"lengths differ",
     "{\"func_names\": [\"a\"], \"runtimes\": [1, 2], \"memory\": [1], \"view_like_ops\": [], "
     "\"rand_ops\": [], \"inplace_ops\": []}",
     1, MS_ERR_CONFIG, NULL},
    {"no operators",
     "{\"func_names\": [], \"runtimes\": [], \"memory\": [], \"view_like_ops\": [], "
     "\"rand_ops\": [], \"inplace_ops\": []}",
     0.5, MS_OK, ""},
    {"no object", "[]", 1, MS_ERR_CONFIG, NULL},
};

static void check_policy(void **state)
{
    const policy_case *c = *state;
    ms_json_source source = {.name = "ops", .text = c->text, .length = strlen(c->text)};
    ms_json *document = NULL;
    ms_error err = {0};
    ms_operator_task task;
    ms_operator_plan plan;
    ms_arena *arena = ms_arena_create(0);
    assert_non_null(arena);
    assert_int_equal(ms_json_parse(&source, &document, &err), MS_OK);
    ms_status status = ms_operators_read(arena, ms_json_root(document), &task, &err);
    if (status == MS_OK)
        status = ms_operators_plan(arena, &task, c->fraction, NULL, &plan, &err);
    assert_int_equal(status, c->status);
    assert_int_equal(err.status, c->status);
    for (size_t i = 0; c->save && i < strlen(c->save); i++)
        assert_int_equal(plan.save[i], c->save[i] == '1');
    if (c->save) {
        assert_int_equal(task.count, strlen(c->save));
        assert_true(plan.is_proven && plan.saved_bytes <= plan.budget_bytes);
    }
    ms_json_free(document);
    ms_arena_free(arena);
}

/* ---- the knapsack ---- */

typedef struct knapsack_case {
    const char *label;
    uint32_t count;
    double weights[5], values[5];
    double capacity;
    double value;
    const char *taken;
} knapsack_case;

static const knapsack_case knapsacks[] = {
    {"five items", 5, {2, 3, 2, 4, 1}, {1, 2, 1, 3, 2}, 5, 5, "00011"},
    {"all fit", 3, {1, 1, 1}, {1, 2, 3}, 3, 6, "111"},
    {"none fits", 3, {10, 20, 30}, {1, 2, 3}, 5, 0, "000"},
    {"one fits", 3, {1, 2, 3}, {10, 20, 30}, 1, 10, "100"},
    {"equal values", 3, {1, 1, 1}, {2, 2, 2}, 2, 4, "110"},
    {"an item without weight", 3, {0, 2, 3}, {5, 2, 3}, 5, 10, "111"},
    {"an item without value", 3, {1, 2, 3}, {0, 2, 3}, 3, 3, "001"},
    {"large", 3, {100, 200, 300}, {1000, 2000, 3000}, 500, 5000, "011"},
    {"fractions", 3, {.5, 1.5, 2}, {1, 2, 3}, 2, 3, "110"},
    {"empty", 0, {0}, {0}, 5, 0, ""},
    {"no capacity", 3, {1, 2, 3}, {10, 20, 30}, 0, 0, "000"},
    {"no weights", 3, {0, 0, 0}, {1, 2, 3}, 0, 6, "111"},
    {"no values", 3, {1, 2, 3}, {0, 0, 0}, 5, 0, "000"},
};

static void check_knapsack(void **state)
{
    const knapsack_case *c = *state;
    ms_item items[5] = {{0, 0}};
    bool taken[5] = {false}, is_proven = false;
    ms_error err = {0};
    double value = 0;
    for (uint32_t i = 0; i < c->count; i++)
        items[i] = (ms_item){c->weights[i], c->values[i]};
    assert_int_equal(ms_knapsack(items, c->count, c->capacity, NULL, taken, &is_proven, &err),
                     MS_OK);
    for (uint32_t i = 0; i < c->count; i++)
        value += taken[i] ? c->values[i] : 0;
    assert_true(is_proven && value >= c->value && value <= c->value);
    /* Two sets are worth most in one case; upstream's is any, ours is fixed. */
    for (uint32_t i = 0; i < c->count; i++)
        assert_int_equal(taken[i], c->taken[i] == '1');
}

static void stops_with_a_set(void **state)
{
    (void)state;
    const ms_item items[] = {{1, 1}, {2, 3}, {3, 3}};
    bool taken[3] = {false}, is_proven = true;
    ms_error err = {0};
    ms_stop stop = 1;
    assert_int_equal(ms_knapsack(items, 3, 4, &stop, taken, &is_proven, &err), MS_OK);
    assert_false(is_proven);
    assert_true(taken[0] && taken[1] && !taken[2]);
}

enum { RANDOM_ITEMS = 14, RANDOM_ROUNDS = 200 };

static double best_of_all(const ms_item *items, double capacity)
{
    double best = 0;
    for (uint32_t set = 0; set < 1u << RANDOM_ITEMS; set++) {
        double weight = 0, value = 0;
        for (uint32_t i = 0; i < RANDOM_ITEMS; i++)
            if (set >> i & 1) {
                weight += items[i].weight;
                value += items[i].value;
            }
        if (weight <= capacity && value > best)
            best = value;
    }
    return best;
}

static void check_random(void **state)
{
    (void)state;
    uint32_t seed = 1;
    for (int round = 0; round < RANDOM_ROUNDS; round++) {
        ms_item items[RANDOM_ITEMS];
        bool taken[RANDOM_ITEMS], is_proven;
        ms_error err = {0};
        double value = 0, weight = 0, total = 0;
        for (uint32_t i = 0; i < RANDOM_ITEMS; i++) {
            seed = seed * 1664525u + 1013904223u;
            items[i] = (ms_item){(double)(seed >> 8 & 63), (double)(seed >> 16 & 63)};
            total += items[i].weight;
        }
        double capacity = (double)(uint32_t)(total * (seed >> 24) / 256);
        assert_int_equal(ms_knapsack(items, RANDOM_ITEMS, capacity, NULL, taken, &is_proven, &err),
                         MS_OK);
        for (uint32_t i = 0; i < RANDOM_ITEMS; i++) {
            value += taken[i] ? items[i].value : 0;
            weight += taken[i] ? items[i].weight : 0;
        }
        assert_true(weight <= capacity);
        assert_true(value >= best_of_all(items, capacity));
    }
}

int main(void)
{
    struct CMUnitTest tests[COUNT_OF(policies) + COUNT_OF(knapsacks) + 2];
    size_t count = ADD_ROWS(tests, check_policy, policies);
    count += ADD_ROWS(tests + count, check_knapsack, knapsacks);
    tests[count++] = (struct CMUnitTest)cmocka_unit_test(check_random);
    tests[count++] = (struct CMUnitTest)cmocka_unit_test(stops_with_a_set);
    return _cmocka_run_group_tests("operators", tests, count, NULL, NULL);
}
