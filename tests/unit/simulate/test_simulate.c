/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The one simulation: its details agree, events that are measured again are as if they had been
 * simulated anew, an evaluation counts once, and budgets and capacities go both ways.
 */
#include "run/simulate/summary.h"
#include "run/simulate/change.h"

#include "input/config/model/model_config.h"
#include "input/config/run/run_config.h"
#include "run/measure/usage.h"
#include "unit/fixtures.h"

#define GIB(n) (UINT64_C(1) << 30) * (n)

typedef struct run_case {
    const char *label;
    ms_run_setting settings[8]; /* ends where a field is NULL */
    uint64_t budget_bytes;      /* that is asked about as well */
    bool is_whole;              /* its second step cannot be played again */
} run_case;

typedef struct loaded {
    ms_arena *arena;
    ms_model_config model;
    ms_run_config run;
    ms_job job;
} loaded;

static void load(const run_case *c, loaded *l)
{
    l->arena = ms_arena_create(0);
    load_run(l->arena, c->settings, COUNT_OF(c->settings), &l->model, &l->run);
    l->job = (ms_job){.model = &l->model, .run = &l->run};
}

static void simulate(const ms_job *job, ms_simulate_detail detail, ms_simulated *s)
{
    ms_error err = {0};
    assert_int_equal(ms_simulate(job, detail, s, &err), MS_OK);
    assert_int_equal(err.status, MS_OK);
}

static void check_same_judgement(const ms_simulated *a, const ms_simulated *b)
{
    assert_string_equal(ms_fit_reason_name(a->judgement.reason),
                        ms_fit_reason_name(b->judgement.reason));
    assert_int_equal(a->judgement.budget_bytes, b->judgement.budget_bytes);
    assert_int_equal(a->judgement.device_bytes.low, b->judgement.device_bytes.low);
    assert_int_equal(a->judgement.device_bytes.expected, b->judgement.device_bytes.expected);
    assert_int_equal(a->judgement.device_bytes.high, b->judgement.device_bytes.high);
}

static void check_same_usage(const ms_simulated *a, const ms_simulated *b)
{
    assert_int_equal(a->usage.peak_bytes, b->usage.peak_bytes);
    assert_int_equal(a->usage.peak_reserved_bytes, b->usage.peak_reserved_bytes);
    assert_int_equal(a->usage.out_of_memory, b->usage.out_of_memory);
}

/* ---- details ---- */

/* What is played twice and what is run three times have the same steady step. */
static void details_agree(void **state)
{
    const run_case *c = *state;
    loaded l;
    ms_simulated all, summary, usage, fit;
    load(c, &l);
    simulate(&l.job, MS_SIMULATE_ALL, &all);
    simulate(&l.job, MS_SIMULATE_SUMMARY, &summary);
    check_same_judgement(&all, &summary);
    check_same_usage(&all, &summary);
    assert_int_equal(all.summary.peak_memory_bytes, summary.summary.peak_memory_bytes);
    assert_int_equal(all.summary.saved_bytes, summary.summary.saved_bytes);
    assert_int_equal(all.summary.evaluation_peak_bytes, summary.summary.evaluation_peak_bytes);
    assert_memory_equal(all.peak.category_bytes, summary.peak.category_bytes,
                        sizeof all.peak.category_bytes);
    ms_job job = l.job;
    job.evaluation = ms_simulated_evaluation(&all);
    simulate(&job, MS_SIMULATE_USAGE, &usage);
    check_same_judgement(&all, &usage);
    check_same_usage(&all, &usage);
    assert_int_equal(usage.is_whole, c->is_whole);
    simulate(&l.job, MS_SIMULATE_FIT, &fit);
    assert_int_equal(ms_reason_verdict(fit.judgement.reason),
                     ms_reason_verdict(all.judgement.reason));
    if (ms_reason_fits(fit.judgement.reason))
        check_same_judgement(&all, &fit);
    assert_true(ms_simulated_least_bytes(&fit) <= ms_simulated_wanted_bytes(&fit) ||
                ms_simulated_evaluation(&fit));
    ms_simulated_free(&fit);
    ms_simulated_free(&usage);
    ms_simulated_free(&summary);
    ms_simulated_free(&all);
    ms_arena_free(l.arena);
}

/* ---- measuring again ---- */

/* Under another budget, after one without a limit: as if simulated anew under it. */
static void again_is_anew(void **state)
{
    const run_case *c = *state;
    loaded l;
    ms_simulated events, anew;
    ms_error err = {0};
    load(c, &l);
    l.run.training.eval_batch = 0;
    ms_variation v = ms_vary(&l.job, l.arena);
    simulate(&l.job, MS_SIMULATE_EVENTS, &events);
    ms_budget_lift(&v.run);
    assert_int_equal(ms_simulate_again(&events, &v.run, &err), MS_OK);
    assert_false(events.usage.out_of_memory);
    ms_budget_set(&v.run, c->budget_bytes);
    assert_int_equal(ms_simulate_again(&events, &v.run, &err), MS_OK);
    const ms_job job = ms_variation_job(&v);
    simulate(&job, MS_SIMULATE_FIT, &anew);
    check_same_judgement(&events, &anew);
    check_same_usage(&events, &anew);
    assert_int_equal(events.is_whole, anew.is_whole);
    assert_int_equal(ms_simulated_wanted_bytes(&events), ms_simulated_wanted_bytes(&anew));
    assert_int_equal(ms_simulated_least_bytes(&events), ms_simulated_least_bytes(&anew));
    ms_simulated_free(&anew);
    ms_simulated_free(&events);
    ms_arena_free(l.arena);
}

/* Another allocator over events that are lent: what lends them stays as it was. */
static void lent_is_anew(void **state)
{
    loaded l;
    ms_simulated all, anew;
    ms_error err = {0};
    const char *option;
    load(*state, &l);
    simulate(&l.job, MS_SIMULATE_ALL, &all);
    ms_variation v = ms_vary(&all.job, l.arena);
    if (ms_vary_by(&v, &ms_allocator_change, &option)) {
        const uint64_t peak = all.usage.peak_bytes;
        ms_simulated lent = ms_simulated_lend(&all);
        assert_int_equal(ms_simulate_again(&lent, &v.run, &err), MS_OK);
        ms_job job = ms_variation_job(&v);
        job.evaluation = ms_simulated_evaluation(&all);
        simulate(&job, MS_SIMULATE_ALL, &anew);
        check_same_judgement(&lent, &anew);
        check_same_usage(&lent, &anew);
        ms_simulated_free(&anew);
        ms_simulated_free(&lent);
        assert_int_equal(all.usage.peak_bytes, peak);
    }
    assert_true(all.simulation.trace.events.count > 0);
    ms_simulated_free(&all);
    ms_arena_free(l.arena);
}

/* A limit that is met changes nothing; of what is beyond one nothing is known. */
static void limits_hold(void **state)
{
    loaded l;
    ms_simulated free_of, within, beyond, summary;
    load(*state, &l);
    ms_job job = l.job;
    simulate(&job, MS_SIMULATE_TIME, &free_of);
    simulate(&job, MS_SIMULATE_SUMMARY, &summary);
    check_same_judgement(&free_of, &summary);
    check_same_usage(&free_of, &summary);
    assert_true(ms_simulated_step_ms(&free_of) == ms_simulated_step_ms(&summary));
    assert_false(ms_simulated_is_beyond(&free_of));
    const uint64_t reserved = free_of.usage.most_reserved_bytes;
    job.limit_bytes = free_of.usage.retries ? 0 : reserved;
    simulate(&job, MS_SIMULATE_TIME, &within);
    check_same_judgement(&free_of, &within);
    check_same_usage(&free_of, &within);
    assert_true(ms_simulated_step_ms(&free_of) == ms_simulated_step_ms(&within));
    job.limit_bytes = reserved - 1;
    simulate(&job, MS_SIMULATE_TIME, &beyond);
    assert_int_equal(ms_simulated_is_beyond(&beyond), ms_job_has_limit(&job) && !beyond.is_whole);
    ms_simulated_free(&beyond);
    ms_simulated_free(&within);
    ms_simulated_free(&summary);
    ms_simulated_free(&free_of);
    ms_arena_free(l.arena);
}

/* What the steps request is known without an allocator. */
static void requests_are_known(void **state)
{
    loaded l;
    ms_simulated events, usage;
    load(*state, &l);
    ms_budget_lift(&l.run);
    simulate(&l.job, MS_SIMULATE_EVENTS, &events);
    simulate(&l.job, MS_SIMULATE_USAGE, &usage);
    if (!usage.is_whole)
        assert_int_equal(ms_lifetimes_most(&events.simulation.trace),
                         ms_simulated_least_bytes(&usage));
    ms_simulated_free(&usage);
    ms_simulated_free(&events);
    ms_arena_free(l.arena);
}

/* clang-format off */
static const run_case runs[] = {
    {"plenty",              {{"config", "smollm2-135m"}, {"seq", "256"}}, GIB(2), false},
    {"too much",            {{"config", "smollm2-135m"}, {"budget", "1GiB"}}, GIB(4), false},
    {"only with retries",   {{"config", "gpt2-xl"}, {"seq", "1024"}, {"batch", "4"}, {"budget", "30GiB"}}, GIB(34), false},
    {"treated",             {{"config", "llama-3.2-1b"}, {"seq", "512"}, {"treat", "all=checkpoint+offload"}}, GIB(14), false},
    {"with an evaluation",  {{"config", "smollm2-135m"}, {"seq", "256"}, {"eval-batch", "16"}, {"eval-logits", "2"}}, GIB(3), false},
    {"on the cpu",          {{"config", "smollm2-135m"}, {"device", "cpu"}, {"dtype", "fp32"}, {"seq", "64"}}, GIB(1), false},
    {"states on the host",  {{"config", "smollm2-135m"}, {"seq", "128"}, {"optimizer-device", "host"}}, GIB(1), false},
    {"no second step alike", {{"config", "smollm2-135m"}, {"seq", "128"}, {"optimizer", "adafactor"}}, GIB(2), true},
};
/* clang-format on */

/* ---- budgets ---- */

static void budgets_go_both_ways(void **state)
{
    (void)state;
    const uint64_t context = 1000;
    const ms_device device = {.context_low_bytes = 10,
                              .context_expected_bytes = context,
                              .context_high_bytes = 2000,
                              .margin_ppm = 50000};
    assert_int_equal(ms_budget_capacity(&device, 0), 0);
    assert_int_equal(ms_budget_capacity(&device, 1), 1);
    assert_int_equal(ms_budget_capacity(&device, context), 1);
    for (uint64_t budget = context + 10; budget < GIB(1); budget = budget * 3 + 7) {
        uint64_t capacity = ms_budget_capacity(&device, budget);
        assert_true(ms_budget_device_bytes(&device, capacity).expected <= budget);
        assert_true(ms_budget_device_bytes(&device, capacity + 3).expected > budget);
        ms_run_config run = {.device = &device, .allocator.kind = MS_ALLOCATOR_CUDA};
        ms_budget_set(&run, budget);
        assert_int_equal(run.budget_bytes, budget);
        assert_int_equal(run.allocator.capacity_bytes, capacity);
        ms_budget_lift(&run);
        assert_int_equal(run.budget_bytes, budget);
        assert_int_equal(run.allocator.capacity_bytes, 0);
        run.allocator.kind = MS_ALLOCATOR_RAW;
        ms_budget_set(&run, budget + 1);
        assert_int_equal(run.allocator.capacity_bytes, 0);
    }
}

int main(void)
{
    struct CMUnitTest tests[5 * COUNT_OF(runs) + 1];
    size_t count = ADD_ROWS(tests, details_agree, runs);
    count += ADD_ROWS(tests + count, again_is_anew, runs);
    count += ADD_ROWS(tests + count, lent_is_anew, runs);
    count += ADD_ROWS(tests + count, limits_hold, runs);
    count += ADD_ROWS(tests + count, requests_are_known, runs);
    tests[count] =
        (struct CMUnitTest){"budgets go both ways", budgets_go_both_ways, NULL, NULL, NULL};
    return cmocka_run_group_tests_name("simulate", tests, NULL, NULL);
}
