/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Calls that are watched: what is counted, and that they end.
 */
#include "memscope/check.h"
#include "memscope/fit.h"
#include "memscope/memscope.h"
#include "memscope/plan.h"
#include "unit/support.h"

typedef struct watched {
    ms_watch *watch;
    ms_run *run;
    ms_error err;
} watched;

static watched begin(bool is_stopped)
{
    watched w = {.watch = ms_watch_create(), .run = ms_run_create()};
    assert_non_null(w.watch);
    assert_int_equal(ms_run_set(w.run, "config", "gpt2", &w.err), MS_OK);
    assert_int_equal(ms_run_set(w.run, "seq", "64", &w.err), MS_OK);
    ms_run_set_watch(w.run, w.watch);
    if (is_stopped)
        ms_watch_stop(w.watch);
    return w;
}

static void end(watched *w)
{
    ms_run_free(w->run);
    ms_watch_free(w->watch);
}

static void counts(void **state)
{
    (void)state;
    watched w = begin(false);
    ms_analysis *analysis = ms_analyze(w.run, &w.err);
    assert_non_null(analysis);
    uint64_t one = ms_watch_done(w.watch);
    assert_true(one > 0);
    ms_fit *fit = ms_fit_find(w.run, "batch", 1024, &w.err);
    assert_non_null(fit);
    assert_true(ms_watch_done(w.watch) > one + 3);
    ms_run_set_watch(w.run, NULL);
    uint64_t done = ms_watch_done(w.watch);
    ms_analysis_free(analysis);
    analysis = ms_analyze(w.run, &w.err);
    assert_int_equal(ms_watch_done(w.watch), done);
    ms_analysis_free(analysis);
    ms_fit_free(fit);
    end(&w);
}

static void counts_a_plan(void **state)
{
    (void)state;
    watched w = begin(false);
    ms_plan *plan = ms_plan_create();
    ms_plan_set_watch(plan, w.watch);
    assert_int_equal(ms_plan_set_run(plan, "config", "gpt2", &w.err), MS_OK);
    assert_int_equal(ms_plan_set(plan, "planner", "none", &w.err), MS_OK);
    assert_int_equal(ms_plan_solve(plan, &w.err), MS_OK);
    assert_true(ms_watch_done(w.watch) > 0);
    ms_plan_free(plan);
    end(&w);
}

static void stops(void **state)
{
    (void)state;
    watched w = begin(true);
    assert_null(ms_analyze(w.run, &w.err));
    assert_int_equal(w.err.status, MS_ERR_STOPPED);
    w.err = (ms_error){0};
    assert_null(ms_fit_find(w.run, "batch", 0, &w.err));
    assert_int_equal(w.err.status, MS_ERR_STOPPED);
    assert_int_equal(ms_watch_done(w.watch), 0);
    end(&w);
}

static void stops_a_check(void **state)
{
    (void)state;
    watched w = begin(false);
    ms_check_options options = {.no_plans = true, .watch = w.watch};
    ms_check *check = ms_check_run("tests/oom/memscope.budgets.json", &options, &w.err);
    assert_non_null(check);
    assert_true(ms_watch_done(w.watch) > 0);
    ms_check_free(check);
    ms_watch_stop(w.watch);
    assert_null(ms_check_run("tests/oom/memscope.budgets.json", &options, &w.err));
    assert_int_equal(w.err.status, MS_ERR_STOPPED);
    end(&w);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts), cmocka_unit_test(counts_a_plan), cmocka_unit_test(stops),
        cmocka_unit_test(stops_a_check)};
    return cmocka_run_group_tests_name("watch", tests, NULL, NULL);
}
