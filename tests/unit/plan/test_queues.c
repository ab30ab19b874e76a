/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The rows that say how long a step waits for copies, beside the clock: whatever options the layers
 * have, and in whatever order, none says more than the step waits.
 */
#include "decide/plan/choose/cost_queues.h"

#include <math.h>
#include <stdlib.h>

#include "decide/plan/choose/cost_problem.h"
#include "decide/plan/costs/copies.h"
#include "unit/costs.h"

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
static double check_draws(const ms_cost_problem *p, uint32_t draws, uint32_t *options)
{
    double closest = 0;
    for (uint32_t n = 0; n < draws; n++) {
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
    ms_error err = {0};
    ms_cost_model costs;
    measure_costs(arena, c->settings, COUNT_OF(c->settings), c->layers, MS_MAY_ALL, &costs);
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
        closest = fmax(closest, check_draws(&p, 4000, all.options));
        ms_problem_free(&p.problem);
    }
    /* Rows that say nothing hold as well. */
    assert_true(closest > (c->has_rows ? 0.5 : -1));
    ms_arena_free(arena);
}

/* ---- layers that no model has ---- */

enum { MOST_LAYERS = 12, MOST_OPTIONS = 8, MOST_COPIES = 4, INSTANCES = 200 };

static double random_ms(double most)
{
    /* round figures, so that ends of copies and of layers meet */
    return most * random_below(21) / 20;
}

/* Copies one after the other; a few are waited for at once. */
static void draw_copies(ms_layer_copies *c, ms_layer_copy *sends, ms_layer_copy *fetches,
                        double *turns)
{
    uint32_t count = random_below(MOST_COPIES + 1);
    double sent = 0, fetched = 0, most = 4 + random_below(3) * 8;
    for (uint32_t k = 0; k < count; k++) {
        bool is_alone = random_below(8) == 0;
        double ms = random_ms(most);
        sent += random_ms(c->forward_ms - sent);
        fetched += random_ms(c->backward_ms - fetched);
        sends[k] = (ms_layer_copy){.at_ms = sent, .copy_ms = ms, .is_alone = is_alone};
        fetches[k] = (ms_layer_copy){
            .at_ms = fetched, .copy_ms = ms, .is_alone = is_alone, .turn = count - 1 - k};
        turns[count - 1 - k] = is_alone ? 0 : ms;
    }
    c->send_count = random_below(8) > 0 ? count : 0;
    c->fetch_count = random_below(8) > 0 ? count : 0;
    c->sends = sends;
    c->fetches = fetches;
    c->turns_ms = turns;
}

static double alone_ms(const ms_layer_copies *c)
{
    double ms = 0;
    for (uint32_t k = 0; k < c->send_count; k++)
        ms += c->sends[k].is_alone ? c->sends[k].copy_ms : 0;
    for (uint32_t k = 0; k < c->fetch_count; k++)
        ms += c->fetches[k].is_alone ? c->fetches[k].copy_ms : 0;
    return ms;
}

static void draw_layer(ms_arena *arena, const ms_cost_model *costs, bool has_copies,
                       ms_layer_cost *cost)
{
    *cost = (ms_layer_cost){.host_bytes = 0};
    for (uint32_t m = 0; m < costs->micro_steps; m++) {
        ms_layer_copies *c = &cost->copies[m];
        double *turns = ms_arena_array(arena, double, MOST_COPIES);
        ms_layer_copy *copies = ms_arena_array(arena, ms_layer_copy, 2 * MOST_COPIES);
        *c = (ms_layer_copies){.forward_ms = 10, .backward_ms = 20};
        if (random_below(2) == 0)
            *c = (ms_layer_copies){.forward_ms = 10 + random_ms(10),
                                   .backward_ms = 15 + random_ms(20)};
        draw_copies(c, copies, copies + MOST_COPIES, turns);
        if (!has_copies)
            c->send_count = c->fetch_count = 0;
        double alone = alone_ms(c) * costs->repeats[m];
        cost->ms += (c->forward_ms + c->backward_ms) * costs->repeats[m] + alone;
        cost->exposed_ms += alone;
        cost->bytes[m].forward_end = (int64_t)(100 + random_below(900)) << 20;
        cost->bytes[m].backward_end = -cost->bytes[m].forward_end;
        for (uint32_t k = 0; k < c->send_count; k++)
            cost->bytes[m].forward_end /= 2;
        cost->sent_bytes = c->send_count > 0 ? 1 : 0;
    }
}

/* Several segments of layers with options of their own; what the last layer has stays. */
static void draw_model(ms_arena *arena, ms_cost_model *costs)
{
    uint32_t *segments = ms_arena_array(arena, uint32_t, MOST_LAYERS + 1);
    *costs = (ms_cost_model){.option_count = 2 + random_below(MOST_OPTIONS - 1),
                             .loss_count = 1,
                             .micro_steps = 1 + random_below(2),
                             .repeats = {1, 2},
                             .has_exact_waits = true,
                             .segments = segments};
    while (costs->layer_count < MOST_LAYERS && random_below(5) > 0)
        costs->layer_count += 1 + random_below(3) * random_below(2),
            segments[++costs->segment_count] = costs->layer_count;
    segments[++costs->segment_count] = ++costs->layer_count;
    for (uint32_t o = 0; o < costs->option_count; o++) {
        costs->options[o].layers = ms_arena_array(arena, ms_layer_cost, costs->layer_count);
        for (uint32_t s = 0; s < costs->segment_count; s++) {
            ms_layer_cost cost;
            draw_layer(arena, costs, o > 0 && s + 1 < costs->segment_count, &cost);
            for (uint32_t i = segments[s]; i < segments[s + 1]; i++)
                costs->options[o].layers[i] = cost;
        }
    }
}

static void synthetic_rows_hold(void **unused)
{
    (void)unused;
    const char *asked = getenv("INSTANCES");
    uint32_t instances = asked ? (uint32_t)strtoul(asked, NULL, 10) : INSTANCES;
    double closest = 0;
    state = 2;
    for (uint32_t n = 0; n < instances; n++) {
        ms_arena *arena = ms_arena_create(0);
        uint32_t options[2 * MOST_LAYERS];
        ms_cost_model costs;
        ms_cost_problem p;
        ms_error err = {0};
        draw_model(arena, &costs);
        const ms_choose_task task = {.costs = &costs,
                                     .aim = MS_LEAST_TIME,
                                     .limit_bytes = (uint64_t)(1 + random_below(6000)) << 20,
                                     .loss_limit_bytes = UINT64_MAX,
                                     .techniques = MS_MAY_ALL,
                                     .loss = MS_ANY_LOSS};
        assert_int_equal(ms_cost_problem_begin(arena, &task, &p, &err), MS_OK);
        find_rows(arena, &p);
        closest = fmax(closest, check_draws(&p, 300, options));
        ms_problem_free(&p.problem);
        ms_arena_free(arena);
    }
    assert_true(closest > 0.9); /* some rows are sharp */
}

int main(void)
{
    int failed = run_rows("rows of waiting", rows_hold, cases);
    const struct CMUnitTest tests[] = {cmocka_unit_test(synthetic_rows_hold)};
    return failed + cmocka_run_group_tests(tests, NULL, NULL);
}
