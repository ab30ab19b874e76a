/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The rows that say how long a step waits for copies, beside the clock: whatever options the layers
 * have, and in whatever order, none says more than the step waits.
 */
#include "plan/choose/cost_queues.h"

#include <math.h>

#include "plan/choose/cost_levels.h"
#include "plan/costs/copies.h"
#include "plan/costs/measure.h"
#include "unit/fixtures.h"

typedef struct queue_case {
    const char *label;
    ms_run_setting settings[6];
    uint32_t layers;
    bool has_rows; /* its copies are waited for, at some limit */
} queue_case;

/* clang-format off */
static const queue_case cases[] = {
    {"fast link", {{"config", "llama-3.1-8b"}, {"batch", "2"}, {"seq", "4096"}, {"device", "h100-80gb"}}, 12, true},
    {"slow link", {{"config", "gpt2-xl"}, {"batch", "4"}, {"seq", "1024"}, {"device", "a100-40gb"}}, 16, true},
    {"small card", {{"config", "llama-3.2-1b"}, {"batch", "4"}, {"seq", "2048"}, {"device", "rtx-4090"}}, 8, true},
    {"two kinds of layers", {{"config", "gemma-3-12b"}, {"batch", "1"}, {"seq", "4096"}, {"device", "b200"}}, 13, true},
    {"micro-steps", {{"config", "llama-3.2-1b"}, {"batch", "4"}, {"accumulate", "3"}, {"device", "l4"}}, 6, true},
    {"scores", {{"config", "gemma-2-2b"}, {"batch", "2"}, {"seq", "2048"}, {"attention", "eager"}, {"device", "a100-80gb"}}, 8, true},
    {"two layers", {{"config", "llama-3.2-1b"}, {"batch", "2"}, {"seq", "2048"}, {"device", "l4"}}, 2, false},
};
/* clang-format on */

static uint64_t state;

static uint32_t random_below(uint32_t count)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((state >> 33) % count);
}

static uint32_t random_option(const ms_cost_problem *p, uint32_t segment)
{
    const ms_cost_block *b;
    do
        b = &p->blocks[random_below(p->block_count)];
    while (b->segment != segment);
    return b->option;
}

/* One of `kinds` options of its segment for each layer, in runs of up to `longest`. */
static void draw(const ms_cost_problem *p, uint32_t kinds, uint32_t longest, uint32_t *options)
{
    const ms_cost_model *costs = p->costs;
    for (uint32_t s = 0; s < costs->segment_count; s++) {
        uint32_t offered[8], run = 0, now = 0;
        for (uint32_t k = 0; k < kinds; k++)
            offered[k] = random_option(p, s);
        for (uint32_t i = costs->segments[s]; i < costs->segments[s + 1]; i++, run--) {
            if (run == 0) {
                run = 1 + random_below(longest);
                now = offered[random_below(kinds)];
            }
            options[i] = now;
        }
    }
}

/* The largest share of an assignment's waiting that the rows know. */
static double check_draws(const ms_cost_problem *p, uint32_t *options)
{
    double closest = 0;
    for (uint32_t n = 0; n < 4000; n++) {
        draw(p, 1 + random_below(5), 1 + random_below(3), options);
        for (uint32_t m = 0; m < p->costs->micro_steps; m++) {
            double waited = ms_copies_wait_ms(p->costs, options, m, INFINITY);
            double known = ms_cost_queues_wait(p, options, m);
            if (known > waited * (1 + 1e-9) + 1e-6)
                fail_msg("the rows say %.9f ms, the step waits %.9f", known, waited);
            if (waited > 0)
                closest = fmax(closest, known / waited);
        }
    }
    return closest;
}

/* Rows of the relaxed problem at this limit, until its solution meets them all. */
static void find_rows(ms_arena *arena, ms_cost_problem *p)
{
    ms_error err = {0};
    const ms_solver_options options = {.time_limit_s = 600};
    uint32_t added = 1;
    for (int round = 0; round < 24 && added > 0; round++) {
        ms_solution solution = {0};
        ms_cost_problem_build(p);
        assert_int_equal(ms_problem_relax(&p->problem, &options, &solution, &err), MS_OK);
        assert_int_equal(ms_cost_queues_find(arena, p, &solution, &added, &err), MS_OK);
        if (solution.has_solution)
            added += ms_cost_levels_unmet(p, &solution);
        ms_solution_free(&solution);
    }
}

static void rows_hold(void **row)
{
    const queue_case *c = *row;
    ms_arena *arena = ms_arena_create(0);
    ms_model_config model;
    ms_run_config run;
    ms_error err = {0};
    load_run(arena, c->settings, COUNT_OF(c->settings), &model, &run);
    model.num_layers = c->layers;
    ms_cost_model costs;
    assert_int_equal(ms_cost_model_measure(arena, &model, &run, MS_MAY_ALL, &costs, &err), MS_OK);
    assert_true(costs.has_exact_waits);
    ms_assignment all = {.options = ms_arena_array(arena, uint32_t, c->layers)};
    ms_assignment_fill(&costs, MS_OPTION_KEEP, &all);
    uint64_t most = ms_assignment_sum(&costs, &all).peak_bytes;
    ms_assignment_fill(&costs, MS_OPTION_CHECKPOINT, &all);
    uint64_t least = ms_assignment_sum(&costs, &all).peak_bytes;
    double closest = 0;
    state = 1;
    for (uint32_t i = 0; i < 5; i++) {
        const ms_choose_task task = {.costs = &costs,
                                     .aim = MS_LEAST_TIME,
                                     .limit_bytes = least + (most - least) * (i + 1) / 8,
                                     .loss_limit_bytes = UINT64_MAX,
                                     .techniques = MS_MAY_ALL,
                                     .loss = MS_ANY_LOSS};
        ms_cost_problem p;
        assert_int_equal(ms_cost_problem_begin(arena, &task, &p, &err), MS_OK);
        find_rows(arena, &p);
        closest = fmax(closest, check_draws(&p, all.options));
        ms_problem_free(&p.problem);
    }
    /* Rows that say nothing hold as well. */
    assert_true(closest > (c->has_rows ? 0.5 : -1));
    ms_arena_free(arena);
}

int main(void)
{
    return run_rows("rows of waiting", rows_hold, cases);
}
