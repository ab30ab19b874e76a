/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Estimates of trials compared with simulations of all layers: where one says that a run fits or
 * does not, so says the simulation, for every candidate alone and for pairs of those that change
 * what is on the device at once. What is certain to be too much is so for the bytes requested.
 */
#include "decide/advise/trial.h"

#include "base/reason.h"
#include "input/config/model/model_config.h"
#include "unit/fixtures.h"

typedef struct run_case {
    const char *label;
    uint32_t least_clear;        /* estimates of so many sets, at least, answer */
    ms_run_setting settings[10]; /* ends where a field is NULL */
} run_case;

typedef struct scene {
    const run_case *row;
    ms_trials quick, exact;
    uint32_t clear;
} scene;

static void compare(scene *s, ms_candidate_set set, ms_arena *arena)
{
    ms_trial estimate, whole;
    assert_int_equal(ms_trials_one(&s->quick, set, &estimate), MS_OK);
    if (!estimate.is_estimate)
        return;
    assert_int_equal(ms_trials_one(&s->exact, set, &whole), MS_OK);
    s->clear++;
    bool is_right = ms_reason_fits(estimate.reason) == ms_reason_fits(whole.reason) &&
                    (!estimate.is_certain || whole.reason == MS_FIT_OVER_BUDGET ||
                     whole.reason == MS_FIT_NO_ROOM);
    if (!is_right)
        fail_msg("%s, %s: estimated to want %.2f GiB and to request %.2f GiB, wants %.2f GiB and "
                 "requests %.2f GiB",
                 s->row->label, ms_combination_title(set, arena),
                 (double)estimate.wanted_bytes / 0x1p30, (double)estimate.least_bytes / 0x1p30,
                 (double)whole.wanted_bytes / 0x1p30, (double)whole.least_bytes / 0x1p30);
}

static void check(void **state)
{
    const run_case *row = *state;
    ms_error err = {0};
    ms_model_config model;
    ms_run_config run;
    ms_candidate_set applicable;
    ms_arena *arena = ms_arena_create(0);
    load_run(arena, row->settings, COUNT_OF(row->settings), &model, &run);
    const ms_job job = {.model = &model, .run = &run};
    scene s = {.row = row,
               .quick = {.job = &job, .err = &err},
               .exact = {.job = &job, .is_exact = true, .is_whole = true, .err = &err}};
    assert_int_equal(ms_trials_candidates(&s.quick, UINT32_MAX, &applicable), MS_OK);
    for (uint32_t i = 0; ms_candidate_at(i); i++)
        for (uint32_t k = 0; k <= i; k++) {
            const ms_candidate *a = ms_candidate_at(i), *b = ms_candidate_at(k);
            bool is_pair = i != k && a->cost != b->cost && !ms_candidates_exclude(a, b);
            if ((is_pair || i == k) && (applicable & ms_bit(i)) && (applicable & ms_bit(k)))
                compare(&s, ms_bit(i) | ms_bit(k), arena);
        }
    if (s.clear < row->least_clear)
        fail_msg("%s: %u estimates are clear", row->label, s.clear);
    ms_trials_free(&s.quick);
    ms_trials_free(&s.exact);
    ms_arena_free(arena);
}

static const run_case rows[] = {
    {"405b, one device: parameters are fetched",
     20,
     {{"config", "llama-3.1-405b"}, {"device", "h100-80gb"}}},
    {"8b, 24 GB", 20, {{"config", "llama-3.1-8b"}, {"device", "rtx-4090"}}},
    {"layers of two kinds in turn", 20, {{"config", "gemma-3-12b"}, {"device", "rtx-4090"}}},
    {"in fp32, of which little is cached",
     15,
     {{"config", "gemma-2-2b"}, {"device", "v100-16gb"}, {"batch", "4"}, {"dtype", "fp32"}}},
    {"first layers of another kind", 20, {{"config", "deepseek-v2-lite"}, {"device", "rtx-4090"}}},
    {"405b over 64 devices",
     8,
     {{"config", "llama-3.1-405b"}, {"device", "h100-80gb"}, {"parallel", "fsdp=64"}}},
};

int main(void)
{
    return run_rows("estimates against simulations", check, rows);
}
