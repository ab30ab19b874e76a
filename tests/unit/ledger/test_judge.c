/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Whether a run fits: at, below and above each bound, then real runs through all that decides.
 */
#include "run/simulate/judge.h"

#include "decide/plan/search/simulate.h"
#include "decide/plan/search/step_plan.h"
#include "input/config/model/model_config.h"
#include "run/simulate/simulate.h"
#include "unit/fixtures.h"

/* ---- by hand ---- */

/* Reserved is 1000; with the context the device holds 1010, 1100 or 1200. */
typedef struct judge_case {
    const char *label;
    uint64_t budget_bytes; /* 0: none */
    uint64_t retries, evaluation_retries, evaluation_reserved_bytes;
    bool out_of_memory, evaluation_out_of_memory;
    ms_fit_reason reason;
} judge_case;

static void check_judge(void **state)
{
    const judge_case *c = *state;
    const ms_device device = {
        .context_low_bytes = 10, .context_expected_bytes = 100, .context_high_bytes = 200};
    const ms_run_config run = {.device = &device, .budget_bytes = c->budget_bytes};
    const ms_usage usage = {
        .peak_reserved_bytes = 1000, .retries = c->retries, .out_of_memory = c->out_of_memory};
    const ms_usage evaluation = {.peak_reserved_bytes = c->evaluation_reserved_bytes,
                                 .retries = c->evaluation_retries,
                                 .out_of_memory = c->evaluation_out_of_memory};
    bool has_evaluation = c->evaluation_reserved_bytes > 0;
    const ms_judgement j = ms_judge(NULL, &run, &usage, has_evaluation ? &evaluation : NULL);
    assert_string_equal(ms_fit_reason_name(j.reason), ms_fit_reason_name(c->reason));
    uint64_t most = c->evaluation_reserved_bytes > 1000 ? c->evaluation_reserved_bytes : 1000;
    assert_int_equal(j.device_bytes.low, most + 10);
    assert_int_equal(j.device_bytes.expected, most + 100);
    assert_int_equal(j.device_bytes.high, most + 200);
    assert_int_equal(j.budget_bytes, c->budget_bytes);
}

/* clang-format off */
static const judge_case judgements[] = {
    {"no budget",                         0, 0, 0, 0,    false, false, MS_FIT_NO_BUDGET},
    {"no budget, but no memory",          0, 0, 0, 0,    true,  false, MS_FIT_NO_ROOM},
    {"the upper end is the budget",    1200, 0, 0, 0,    false, false, MS_FIT_WITHIN_BUDGET},
    {"the upper end is a byte over",   1199, 0, 0, 0,    false, false, MS_FIT_UPPER_END},
    {"the middle is the budget",       1100, 0, 0, 0,    false, false, MS_FIT_UPPER_END},
    {"the middle is a byte over",      1099, 0, 0, 0,    false, false, MS_FIT_OVER_BUDGET},
    {"only the lower end fits",        1010, 0, 0, 0,    false, false, MS_FIT_OVER_BUDGET},
    {"with a retry",                   1200, 1, 0, 0,    false, false, MS_FIT_RETRIES},
    {"with retries and the middle",    1100, 6, 0, 0,    false, false, MS_FIT_RETRIES},
    {"over, with retries",             1099, 6, 0, 0,    false, false, MS_FIT_OVER_BUDGET},
    {"no room on the way",             1200, 3, 0, 0,    true,  false, MS_FIT_NO_ROOM},
    {"no room, and over",              1000, 3, 0, 0,    true,  false, MS_FIT_OVER_BUDGET},
    {"a smaller evaluation",           1200, 0, 0, 500,  false, false, MS_FIT_WITHIN_BUDGET},
    {"an evaluation with a retry",     1200, 0, 1, 500,  false, false, MS_FIT_RETRIES},
    {"an evaluation without room",     1200, 0, 1, 500,  false, true,  MS_FIT_NO_ROOM},
    {"an evaluation, the upper end",   1200, 0, 0, 1001, false, false, MS_FIT_UPPER_END},
    {"an evaluation that is too much", 1200, 0, 0, 1101, false, false, MS_FIT_OVER_BUDGET},
};
/* clang-format on */

/* ---- words ---- */

static void test_words(void **state)
{
    (void)state;
    for (int i = MS_FIT_OVER_BUDGET; i <= MS_FIT_NO_BUDGET; i++) {
        ms_fit_reason reason = (ms_fit_reason)i, found;
        assert_true(ms_reason_find(ms_fit_reason_name(reason), &found));
        assert_int_equal(found, reason);
        assert_true(*ms_fit_reason_text(reason));
        bool fits = ms_reason_verdict(reason) == MS_VERDICT_FITS;
        assert_int_equal(*ms_fit_reason_advice(reason) == '\0', fits);
    }
    ms_fit_reason none;
    assert_false(ms_reason_find("narrowly", &none));
    assert_string_equal(ms_fit_verdict_name(MS_VERDICT_NO), "no");
    assert_string_equal(ms_fit_verdict_name(MS_VERDICT_TIGHT), "tight");
    assert_string_equal(ms_fit_verdict_name(MS_VERDICT_FITS), "fits");
}

/* ---- real runs: the lean replay of the planner, the summary of a sweep and the analysis agree
 * ---- */

typedef struct run_case {
    const char *label;
    ms_run_setting settings[8]; /* ends where a field is NULL */
    ms_fit_reason reason;
} run_case;

static void check_run(void **state)
{
    const run_case *c = *state;
    ms_arena *arena = ms_arena_create(0);
    ms_model_config model;
    ms_run_config run;
    ms_error err = {0};
    load_run(arena, c->settings, COUNT_OF(c->settings), &model, &run);
    const ms_job job = {.model = &model, .run = &run};
    ms_simulated simulated;
    assert_int_equal(ms_simulate(&job, MS_SIMULATE_FIT, &simulated, &err), MS_OK);
    const ms_fit_reason reason = simulated.judgement.reason;
    ms_simulated_free(&simulated);
    /* It stops where memory runs out in the first step, so of what does not fit it knows no more.
     */
    assert_int_equal(ms_reason_verdict(reason), ms_reason_verdict(c->reason));
    assert_true(reason == c->reason || !ms_reason_fits(reason));
    ms_step_figures figures;
    assert_int_equal(ms_step_plan_simulate(arena, &model, &run, &run.treatments, &figures, &err),
                     MS_OK);
    assert_int_equal(figures.reason, c->reason);
    assert_int_equal(ms_simulate(&job, MS_SIMULATE_SUMMARY, &simulated, &err), MS_OK);
    const ms_summary summary = simulated.summary;
    ms_simulated_free(&simulated);
    assert_int_equal(summary.verdict_reason, c->reason);
    assert_int_equal(summary.verdict, ms_reason_verdict(c->reason));
    assert_int_equal(summary.fits, ms_reason_fits(c->reason));
    ms_run *whole = ms_run_create();
    for (size_t i = 0; i < COUNT_OF(c->settings) && c->settings[i].field; i++)
        assert_int_equal(ms_run_set(whole, c->settings[i].field, c->settings[i].value, &err),
                         MS_OK);
    ms_analysis *analysis = ms_analyze(whole, &err);
    assert_non_null(analysis);
    assert_int_equal(ms_analysis_summary(analysis)->verdict_reason, c->reason);
    if (ms_reason_fits(c->reason))
        assert_int_equal(ms_analysis_summary(analysis)->allocator_retries > 0,
                         c->reason == MS_FIT_RETRIES);
    ms_analysis_free(analysis);
    ms_run_free(whole);
    ms_arena_free(arena);
}

/* clang-format off */
static const run_case runs[] = {
    {"plenty",             {{"config", "smollm2-135m"}, {"seq", "256"}},                               MS_FIT_WITHIN_BUDGET},
    {"only with retries",  {{"config", "gpt2-xl"}, {"seq", "1024"}, {"batch", "4"}, {"budget", "30GiB"}}, MS_FIT_RETRIES},
    {"only the middle",    {{"config", "llama-3.2-1b"}, {"batch", "2"}, {"seq", "1024"}, {"budget", "14.30GiB"}}, MS_FIT_UPPER_END},
    {"too much",           {{"config", "smollm2-135m"}, {"budget", "1GiB"}},                           MS_FIT_OVER_BUDGET},
    {"on the cpu",         {{"config", "smollm2-135m"}, {"device", "cpu"}, {"dtype", "fp32"}, {"seq", "64"}}, MS_FIT_NO_BUDGET},
};
/* clang-format on */

int main(void)
{
    struct CMUnitTest tests[COUNT_OF(judgements) + COUNT_OF(runs) + 1];
    size_t count = ADD_ROWS(tests, check_judge, judgements);
    count += ADD_ROWS(tests + count, check_run, runs);
    tests[count] = (struct CMUnitTest){"words", test_words, NULL, NULL, NULL};
    return cmocka_run_group_tests_name("judge", tests, NULL, NULL);
}
