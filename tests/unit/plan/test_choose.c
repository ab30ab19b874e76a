/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The mixed-integer problem against every assignment there is, on models of a few layers: at every
 * limit nothing is faster than what it chose, and its bound is never above the fastest.
 */
#include "decide/plan/choose/choose.h"

#include <math.h>
#include <string.h>

#include "unit/costs.h"

typedef struct choose_case {
    const char *label;
    ms_run_setting settings[8];
    uint32_t layers, techniques;
} choose_case;

/* clang-format off */
static const choose_case cases[] = {
    {"2 layers, everything", {{"config", "llama-3.2-1b"}, {"seq", "512"}}, 2, MS_MAY_ALL},
    {"3 layers, everything", {{"config", "qwen3-0.6b"}, {"batch", "2"}, {"seq", "300"}}, 3, MS_MAY_ALL},
    {"4 layers, everything", {{"config", "llama-3.2-1b"}, {"batch", "3"}, {"seq", "512"}}, 4, MS_MAY_ALL},
    {"4 layers, accumulated", {{"config", "gpt2"}, {"seq", "512"}, {"accumulate", "3"}, {"clip", "1"}}, 4, MS_MAY_ALL},
    {"3 layers, eager attention", {{"config", "gpt2"}, {"seq", "1024"}, {"attention", "eager"}}, 3, MS_MAY_ALL},
    {"5 layers, tiles of attention", {{"config", "llama-3.2-1b"}, {"seq", "1024"}, {"attention", "eager"}}, 5, MS_MAY_CHECKPOINT | MS_MAY_TILE},
    {"5 layers, the math kernel", {{"config", "gpt2"}, {"seq", "700"}, {"attention", "math"}}, 5, MS_MAY_TILE | MS_MAY_CHUNK_LOSS},
    {"6 layers, checkpoints and tiles", {{"config", "llama-3.1-8b"}, {"seq", "1024"}}, 6, MS_MAY_CHECKPOINT | MS_MAY_TILE | MS_MAY_CHUNK_LOSS},
    {"6 layers, offload", {{"config", "llama-3.1-8b"}, {"batch", "4"}, {"seq", "512"}}, 6, MS_MAY_CHECKPOINT | MS_MAY_OFFLOAD},
    {"5 layers, selective", {{"config", "mistral-7b-v0.1"}, {"seq", "512"}}, 5, MS_MAY_CHECKPOINT | MS_MAY_SELECT},
    {"6 layers of two kinds", {{"config", "olmo-3-7b"}, {"seq", "4200"}}, 6, MS_MAY_CHECKPOINT | MS_MAY_TILE | MS_MAY_CHUNK_LOSS},
    {"5 layers, autocast", {{"config", "llama-3.2-1b"}, {"seq", "512"}, {"dtype", "fp32"}, {"autocast", "bf16"}}, 5, MS_MAY_CHECKPOINT | MS_MAY_SELECT},
    {"6 layers, fsdp", {{"config", "llama-3.1-8b"}, {"seq", "1024"}, {"parallel", "fsdp=8"}}, 6, MS_MAY_CHECKPOINT | MS_MAY_SELECT},
    {"6 layers, fsdp, gathered layers largest", {{"config", "llama-3.1-8b"}, {"seq", "128"}, {"parallel", "fsdp=64"}, {"dtype", "fp32"}, {"param-dtype", "bf16"}, {"reduce-dtype", "fp32"}}, 6, MS_MAY_CHECKPOINT | MS_MAY_SELECT},
    {"6 layers, hsdp, accumulated", {{"config", "qwen3-0.6b"}, {"seq", "512"}, {"parallel", "hsdp=2x4"}, {"accumulate", "3"}, {"no-sync", "yes"}}, 6, MS_MAY_CHECKPOINT | MS_MAY_SELECT},
    {"6 layers, fsdp1", {{"config", "llama-3.2-1b"}, {"seq", "1024"}, {"parallel", "fsdp1=8"}}, 6, MS_MAY_CHECKPOINT | MS_MAY_SELECT},
    {"6 layers, dp", {{"config", "gpt2"}, {"seq", "700"}, {"parallel", "dp=8"}}, 6, MS_MAY_CHECKPOINT | MS_MAY_SELECT},
    {"6 layers, tp", {{"config", "llama-3.1-8b"}, {"seq", "512"}, {"parallel", "tp=4"}}, 6, MS_MAY_CHECKPOINT | MS_MAY_SELECT},
    {"6 layers, zero 2", {{"config", "llama-3.2-1b"}, {"seq", "512"}, {"parallel", "zero=2,dp=4"}, {"reduce-bucket-size", "100000000"}}, 6, MS_MAY_CHECKPOINT},
};
/* clang-format on */

enum { LIMITS = 8 };

typedef struct every {
    const ms_cost_model *costs;
    uint32_t techniques;
    ms_vec(ms_cost_sum) sums; /* of all assignments */
    uint64_t limits[LIMITS];
    double least_ms[LIMITS]; /* over all assignments within the limit */
    uint64_t lowest, highest;
    double kept_ms; /* with everything kept */
} every;

static void try_choice(every *e, const ms_assignment *assignment)
{
    ms_cost_sum sum = ms_assignment_sum(e->costs, assignment);
    e->lowest = sum.peak_bytes < e->lowest ? sum.peak_bytes : e->lowest;
    e->highest = sum.peak_bytes > e->highest ? sum.peak_bytes : e->highest;
    if (e->costs->collectives) /* which the planner's bound rests on */
        assert_true(sum.step_ms >= e->kept_ms * (1 - 1e-9));
    assert_true(ms_vec_push(&e->sums, sum));
}

static void find_least(every *e, int limit)
{
    e->limits[limit] = e->lowest + (e->highest - e->lowest) * (uint64_t)limit / (LIMITS - 1);
    e->least_ms[limit] = INFINITY;
    for (uint32_t i = 0; i < e->sums.count; i++)
        if (e->sums.items[i].peak_bytes <= e->limits[limit])
            e->least_ms[limit] = fmin(e->least_ms[limit], e->sums.items[i].step_ms);
}

static void enumerate(every *e, ms_assignment *assignment, uint32_t layer)
{
    uint32_t losses = e->techniques & MS_MAY_CHUNK_LOSS ? e->costs->loss_count : 1;
    if (layer == e->costs->layer_count) {
        for (assignment->loss = 0; assignment->loss < losses; assignment->loss++)
            try_choice(e, assignment);
        return;
    }
    for (uint32_t o = 0; o < e->costs->option_count; o++) {
        assignment->options[layer] = o;
        if (ms_treatment_allowed(&e->costs->options[o].treatment, e->techniques))
            enumerate(e, assignment, layer + 1);
    }
}

/* Where copies are waited for, the order of layers matters, which a search finds and a bound does
 * not know: what is not proven is at most that much slower than the best. */
static const double UNPROVEN = 0.002;

static void check_limit(ms_arena *arena, const every *e, int i, double gap)
{
    ms_error err = {0};
    ms_chosen chosen;
    const ms_choose_task task = {.costs = e->costs,
                                 .aim = MS_LEAST_TIME,
                                 .limit_bytes = e->limits[i],
                                 .loss_limit_bytes = UINT64_MAX,
                                 .techniques = e->techniques,
                                 .loss = MS_ANY_LOSS,
                                 .gap = gap,
                                 .time_limit_s = 600};
    assert_int_equal(ms_choose_milp(arena, &task, &chosen, &err), MS_OK);
    double tolerance = e->least_ms[i] * 1e-6;
    if (isinf(e->least_ms[i])) {
        /* What it chose is over the limit by what its rows leave out. */
        if (chosen.has_assignment)
            assert_true(ms_assignment_sum(e->costs, &chosen.assignment).peak_bytes > e->limits[i]);
        return;
    }
    assert_true(chosen.has_assignment);
    assert_true(chosen.bound <= e->least_ms[i] + tolerance);
    ms_cost_sum sum = ms_assignment_sum(e->costs, &chosen.assignment);
    double within = chosen.outcome == MS_SOLVER_PROVEN ? 1.01 * gap : UNPROVEN;
    if (e->costs->collectives) /* what is waited for other ranks is not all in the problem */
        within = fmax(within, UNPROVEN);
    if (sum.peak_bytes <= e->limits[i])
        assert_true(sum.step_ms >= e->least_ms[i] - tolerance &&
                    sum.step_ms <= e->least_ms[i] * (1 + within) + tolerance);
    else
        print_message("limit %d of %d: the assignment counts %.4f %% over\n", i, LIMITS,
                      100.0 * ((double)sum.peak_bytes / (double)e->limits[i] - 1));
}

static void nothing_is_better(void **state)
{
    const choose_case *c = *state;
    ms_arena *arena = ms_arena_create(0);
    ms_cost_model costs;
    measure_costs(arena, c->settings, COUNT_OF(c->settings), c->layers, c->techniques, &costs);
    ms_assignment assignment = {.options = ms_arena_array(arena, uint32_t, c->layers)};
    every e = {.costs = &costs, .techniques = c->techniques, .lowest = UINT64_MAX};
    e.kept_ms = ms_assignment_sum(&costs, &assignment).step_ms;
    enumerate(&e, &assignment, 0);
    for (int i = 0; i < LIMITS; i++) {
        find_least(&e, i);
        check_limit(arena, &e, i, 0.001);
        check_limit(arena, &e, i, i % 2 ? 0 : 0.02);
    }
    ms_vec_free(&e.sums);
    ms_arena_free(arena);
}

int main(void)
{
    return run_rows("against every assignment", nothing_is_better, cases);
}
