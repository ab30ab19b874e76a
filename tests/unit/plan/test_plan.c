/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The solver's seam, and plans for module trees: what is refused, what is infeasible, what is
 * found.
 */
#include <math.h>
#include <string.h>

#include "base/json/value.h"
#include "decide/plan/modules/checkpoints.h"
#include "decide/plan/solver/problem.h"
#include "decide/plan/solver/solver.h"
#include "unit/support.h"

/* ---- the seam ---- */

static const ms_solver_options exact = {.time_limit_s = 600, .memory_mib = 64};

/* Two items of 3 and 4 that must weigh at least 5: both. */
static void build_cover(ms_problem *p, bool names_column_twice)
{
    uint32_t a = ms_problem_column(p, (ms_problem_bounds){0, 1}, 1, true);
    uint32_t b = ms_problem_column(p, (ms_problem_bounds){0, 1}, 1, true);
    ms_problem_row(p, (ms_problem_bounds){5, INFINITY});
    ms_problem_term(p, a, 3);
    ms_problem_term(p, names_column_twice ? a : b, 4);
}

static void solves_after_an_error(void **state)
{
    (void)state;
    for (int i = 0; i < 6; i++) {
        ms_problem p = {.no_memory = false};
        ms_solution s = {0};
        ms_error err = {0};
        bool is_wrong = i % 2 == 0;
        build_cover(&p, is_wrong);
        ms_status status = ms_problem_solve(&p, &exact, &s, &err);
        assert_int_equal(status, is_wrong ? MS_ERR_SOLVER : MS_OK);
        if (!is_wrong) {
            assert_int_equal(s.outcome, MS_SOLVER_PROVEN);
            assert_true(fabs(s.objective - 2) < 1e-6 && fabs(s.bound - 2) < 1e-6);
        }
        ms_solution_free(&s);
        ms_problem_free(&p);
    }
}

/* With a third item, of weight 2: one of the second, a third of the first, 1/3 for each unit of
 * weight. */
static void relaxes(void **state)
{
    (void)state;
    static const double prices[] = {0, 1 - 4 / 3.0, 1 - 2 / 3.0};
    ms_problem p = {.no_memory = false};
    ms_solution s = {0};
    ms_error err = {0};
    build_cover(&p, false);
    ms_problem_term(&p, ms_problem_column(&p, (ms_problem_bounds){0, 1}, 1, true), 2);
    assert_int_equal(ms_problem_relax(&p, &exact, &s, &err), MS_OK);
    assert_true(s.has_solution && fabs(s.objective - 4 / 3.0) < 1e-9);
    for (size_t i = 0; i < COUNT_OF(prices); i++)
        assert_true(fabs(s.prices[i] - prices[i]) < 1e-9);
    ms_solution_free(&s);
    ms_problem_row(&p, (ms_problem_bounds){-INFINITY, 0.5});
    ms_problem_term(&p, 1, 1);
    ms_problem_row(&p, (ms_problem_bounds){-INFINITY, 0.5});
    ms_problem_term(&p, 0, 1);
    assert_int_equal(ms_problem_relax(&p, &exact, &s, &err), MS_OK);
    assert_true(s.has_solution); /* 1.5 + 2 + 2 * 0.75 = 5 */
    ms_solution_free(&s);
    ms_problem_row(&p, (ms_problem_bounds){-INFINITY, 0.5});
    ms_problem_term(&p, 2, 1);
    assert_int_equal(ms_problem_relax(&p, &exact, &s, &err), MS_OK);
    assert_int_equal(s.outcome, MS_SOLVER_INFEASIBLE);
    ms_solution_free(&s);
    ms_problem_free(&p);
}

static void finds_no_solution(void **state)
{
    (void)state;
    ms_problem p = {.no_memory = false};
    ms_solution s = {0};
    ms_error err = {0};
    build_cover(&p, false);
    ms_problem_row(&p, (ms_problem_bounds){-INFINITY, 1});
    ms_problem_term(&p, 0, 1);
    ms_problem_term(&p, 1, 1);
    assert_int_equal(ms_problem_solve(&p, &exact, &s, &err), MS_OK);
    assert_int_equal(s.outcome, MS_SOLVER_INFEASIBLE);
    assert_false(s.has_solution);
    ms_solution_free(&s);
    ms_problem_free(&p);
}

static void stops(void **state)
{
    (void)state;
    ms_problem p = {.no_memory = false};
    ms_solution s = {0};
    ms_error err = {0};
    ms_stop stop = 1;
    ms_solver_options options = exact;
    options.stop = &stop;
    build_cover(&p, false);
    assert_int_equal(ms_problem_solve(&p, &options, &s, &err), MS_OK);
    assert_int_equal(s.outcome, MS_SOLVER_LIMIT);
    assert_true(s.bound <= 2 + 1e-6);
    ms_solution_free(&s);
    ms_problem_free(&p);
}

static void refuses_bad_problem(void **state)
{
    (void)state;
    ms_problem p = {.no_memory = false};
    ms_solution s = {0};
    ms_error err = {0};
    ms_problem_column(&p, (ms_problem_bounds){0, NAN}, 1, true);
    assert_int_equal(ms_problem_solve(&p, &exact, &s, &err), MS_ERR_INTERNAL);
    ms_solution_free(&s);
    ms_problem_free(&p);
}

/* ---- graphs ---- */

#define ORDER(pre, post)                                                                           \
    "{\"mod_order\": {\"fw_pre_order\": [" pre "], \"fw_post_order\": [" post "]}, "
#define CURVE                                                                                      \
    "\"is_leaf\": false, \"sac_runtime\": 10, \"sac_memory\": 1000, \"n_segments\": 1, "           \
    "\"slopes\": [1], \"intercepts\": [0]}"
#define STATS(name, total)                                                                         \
    "{\"fqn\": \"" name "\", \"param_per_module\": 100, \"grad_total\": 0, "                       \
    "\"act_fw_per_module\": 800, \"act_grad_per_module\": 50, \"act_total\": " total ", "
#define ROOT STATS("M", "2000") CURVE
#define LAYER(name, total) STATS(name, total) CURVE

typedef struct graph_case {
    const char *label;
    const char *text;
    uint64_t budget_bytes;
    ms_status status;
    ms_plan_outcome outcome;
    uint64_t peak_bytes;
    double recompute_ms;
} graph_case;

/* Two layers that keep 800 each of the 1000 that they make; the first 200 discarded are for
 * nothing, then a byte costs 0.01 ms. Nothing discarded: 2000 + 50 + 100. */
static const char two_layers[] =
    ORDER("\"M\", \"M.a\", \"M.b\"", "\"M.a\", \"M.b\", \"M\"") "\"mod_stats\": [" ROOT ", " LAYER(
        "M.a", "900") ", " LAYER("M.b", "1800") "]}";

/* clang-format off */
static const graph_case graphs[] = {
    {"fits as it is", two_layers, 2150, MS_OK, MS_PLAN_OPTIMAL, 2150, 0},
    {"the later one cannot help itself", two_layers, 1250, MS_OK, MS_PLAN_OPTIMAL, 1250, 13},
    {"one module is enough", two_layers, 1750, MS_OK, MS_PLAN_OPTIMAL, 1750, 6},
    {"a byte too much", two_layers, 2149, MS_OK, MS_PLAN_OPTIMAL, 2149, 2.01},
    {"a byte short", two_layers, 1149, MS_OK, MS_PLAN_INFEASIBLE, 0, 0},
    {"under the static part", two_layers, 99, MS_OK, MS_PLAN_INFEASIBLE, 0, 0},
    {"in any order of figures",
     ORDER("\"M\", \"M.a\"", "\"M.a\", \"M\"") "\"mod_stats\": [" LAYER("M.a", "900") ", " ROOT "]}",
     9999, MS_OK, MS_PLAN_OPTIMAL, 2150, 0},
    {"no orders", "{\"mod_stats\": []}", 1, MS_ERR_CONFIG, 0, 0, 0},
    {"no modules", ORDER("", "") "\"mod_stats\": []}", 1, MS_ERR_CONFIG, 0, 0, 0},
    {"no figures", ORDER("\"M\"", "\"M\"") "\"mod_stats\": []}", 1, MS_ERR_CONFIG, 0, 0, 0},
    {"listed twice", ORDER("\"M\", \"M.a\", \"M.a\"", "\"M.a\", \"M.a\", \"M\"") "\"mod_stats\": []}", 1, MS_ERR_CONFIG, 0, 0, 0},
    {"left too late", ORDER("\"M\", \"M.a\", \"M.a.x\", \"M.b\"", "\"M.a.x\", \"M.b\", \"M.a\", \"M\"") "\"mod_stats\": []}", 1, MS_ERR_CONFIG, 0, 0, 0},
    {"left twice", ORDER("\"M\", \"M.a\"", "\"M.a\", \"M.a\"") "\"mod_stats\": []}", 1, MS_ERR_CONFIG, 0, 0, 0},
    {"never left", ORDER("\"M\", \"M.a\"", "\"M\"") "\"mod_stats\": []}", 1, MS_ERR_CONFIG, 0, 0, 0},
    {"parent left before its child", ORDER("\"M\", \"M.a\"", "\"M\", \"M.a\"") "\"mod_stats\": []}", 1, MS_ERR_CONFIG, 0, 0, 0},
    {"child entered before its parent", ORDER("\"M\", \"M.a.x\", \"M.a\"", "\"M.a.x\", \"M.a\", \"M\"") "\"mod_stats\": []}", 1, MS_ERR_CONFIG, 0, 0, 0},
    {"entered again", ORDER("\"M\", \"M.a\", \"M.b\", \"M.a.x\"", "\"M.a.x\", \"M.a\", \"M.b\", \"M\"") "\"mod_stats\": []}", 1, MS_ERR_CONFIG, 0, 0, 0},
    {"two roots", ORDER("\"M\", \"N\"", "\"N\", \"M\"") "\"mod_stats\": []}", 1, MS_ERR_CONFIG, 0, 0, 0},
    {"figures twice", ORDER("\"M\", \"M.a\"", "\"M.a\", \"M\"") "\"mod_stats\": [" ROOT ", " ROOT "]}", 1, MS_ERR_CONFIG, 0, 0, 0},
    {"figures of a stranger", ORDER("\"M\"", "\"M\"") "\"mod_stats\": [" LAYER("N", "1") "]}", 1, MS_ERR_CONFIG, 0, 0, 0},
    {"missing figure", ORDER("\"M\"", "\"M\"") "\"mod_stats\": [{\"fqn\": \"M\"}]}", 1, MS_ERR_CONFIG, 0, 0, 0},
    {"missing curve", ORDER("\"M\"", "\"M\"") "\"mod_stats\": [" STATS("M", "1") "\"is_leaf\": false}]}", 1, MS_ERR_CONFIG, 0, 0, 0},
    {"negative bytes", ORDER("\"M\"", "\"M\"") "\"mod_stats\": [" LAYER("M", "-1") "]}", 1, MS_ERR_CONFIG, 0, 0, 0},
    {"bytes past 2^48", ORDER("\"M\"", "\"M\"") "\"mod_stats\": [" LAYER("M", "281474976710657") "]}", 1, MS_ERR_CONFIG, 0, 0, 0},
    {"slopes without intercepts", ORDER("\"M\"", "\"M\"") "\"mod_stats\": [" STATS("M", "1")
     "\"is_leaf\": false, \"sac_runtime\": 1, \"sac_memory\": 1, \"slopes\": [1], \"intercepts\": []}]}", 1, MS_ERR_CONFIG, 0, 0, 0},
    {"a list", "[]", 1, MS_ERR_CONFIG, 0, 0, 0},
};
/* clang-format on */

static ms_status plan_text(ms_arena *arena, const graph_case *c, const ms_stop *stop,
                           ms_checkpoint_plan *plan, ms_error *err)
{
    ms_json_source source = {.name = "graph", .text = c->text, .length = strlen(c->text)};
    ms_json *document = NULL;
    ms_graph graph;
    bool may[8] = {true, true, true, true, true, true, true, true};
    assert_int_equal(ms_json_parse(&source, &document, err), MS_OK);
    ms_status status =
        ms_graph_read(arena, ms_json_root(document), MS_GRAPH_FOR_CHECKPOINTS, &graph, err);
    ms_json_free(document);
    if (status != MS_OK)
        return status;
    ms_checkpoint_task task = {.graph = &graph,
                               .may = may,
                               .budget_bytes = c->budget_bytes,
                               .world_size = 1,
                               .time_limit_s = 10,
                               .stop = stop};
    return ms_checkpoints_plan(arena, &task, plan, err);
}

static void check_graph(void **state)
{
    const graph_case *c = *state;
    ms_error err = {0};
    ms_checkpoint_plan plan = {0};
    ms_arena *arena = ms_arena_create(0);
    assert_non_null(arena);
    assert_int_equal(plan_text(arena, c, NULL, &plan, &err), c->status);
    assert_int_equal(err.status, c->status);
    assert_int_equal(err.text[0] != '\0', c->status != MS_OK);
    if (c->status == MS_OK) {
        assert_int_equal(plan.outcome, c->outcome);
        assert_int_equal(plan.has_plan, c->outcome == MS_PLAN_OPTIMAL);
        if (plan.has_plan) {
            assert_int_equal(plan.peak_bytes, c->peak_bytes);
            assert_true(fabs(plan.recompute_ms - c->recompute_ms) < 1e-6);
            assert_true(plan.gap <= 1e-6);
        }
    }
    ms_arena_free(arena);
}

/* Whoever stops at once still gets a plan that fits, and an honest gap. */
static void stops_with_a_plan(void **state)
{
    (void)state;
    const graph_case c = {"", two_layers, 1250, MS_OK, MS_PLAN_STOPPED, 1250, 13};
    ms_error err = {0};
    ms_checkpoint_plan plan = {0};
    ms_stop stop = 1;
    ms_arena *arena = ms_arena_create(0);
    assert_non_null(arena);
    assert_int_equal(plan_text(arena, &c, &stop, &plan, &err), MS_OK);
    assert_int_equal(plan.outcome, MS_PLAN_STOPPED);
    assert_true(plan.has_plan && plan.peak_bytes <= c.budget_bytes);
    assert_true(plan.recompute_ms >= c.recompute_ms && plan.bound_ms <= c.recompute_ms);
    assert_true(plan.gap > 0.001 && plan.gap <= 1);
    ms_arena_free(arena);
}

int main(void)
{
    struct CMUnitTest tests[COUNT_OF(graphs) + 6];
    size_t count = ADD_ROWS(tests, check_graph, graphs);
    tests[count++] = (struct CMUnitTest)cmocka_unit_test(solves_after_an_error);
    tests[count++] = (struct CMUnitTest)cmocka_unit_test(relaxes);
    tests[count++] = (struct CMUnitTest)cmocka_unit_test(finds_no_solution);
    tests[count++] = (struct CMUnitTest)cmocka_unit_test(refuses_bad_problem);
    tests[count++] = (struct CMUnitTest)cmocka_unit_test(stops);
    tests[count++] = (struct CMUnitTest)cmocka_unit_test(stops_with_a_plan);
    return _cmocka_run_group_tests("plan", tests, count, NULL, NULL);
}
