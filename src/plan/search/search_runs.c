/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Assignments with two runs of layers: the first layers under one option, the others under another.
 * Fragmentation depends on the sequence of sizes, which the cost model does not know; two runs
 * cause few kinds of gaps.
 */
#include "plan/search/search_runs.h"

#include "plan/choose/choose_heuristics.h"
#include "plan/search/search.h"

enum { MOST_RUN_HALVINGS = 4 };

typedef struct two_runs {
    uint32_t first, rest; /* options */
    ms_assignment *assignment;
} two_runs;

static ms_cost_sum count_runs(const ms_search *s, const two_runs *runs, uint32_t layers)
{
    for (uint32_t i = 0; i < s->costs.layer_count; i++)
        runs->assignment->options[i] = i < layers ? runs->first : runs->rest;
    return ms_assignment_sum(&s->costs, runs->assignment);
}

/* Less gain than that is not worth a simulation. */
static const double worth_running = 0.995;

static bool is_faster(const ms_search *s, double step_ms)
{
    return !s->has_best || step_ms < s->best_ms * worth_running;
}

static double runs_ms(const ms_search *s, const two_runs *runs, uint32_t layers)
{
    const ms_layer_cost *first = s->costs.options[runs->first].layers,
                        *rest = s->costs.options[runs->rest].layers;
    double ms = s->costs.losses[runs->assignment->loss].ms;
    for (uint32_t i = 0; i < s->costs.layer_count; i++)
        ms += i < layers ? first[i].ms : rest[i].ms;
    return ms;
}

/* As many first layers as are still faster than the best. */
static uint32_t most_layers(const ms_search *s, const two_runs *runs)
{
    uint32_t low = 0, high = s->costs.layer_count;
    while (low < high) {
        uint32_t middle = high - (high - low) / 2;
        if (is_faster(s, runs_ms(s, runs, middle)))
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

static ms_status try_layers(ms_search *s, const two_runs *runs, uint32_t layers, bool *yes)
{
    ms_cost_sum sum = count_runs(s, runs, layers);
    ms_assignment copy;
    *yes = false;
    if (sum.peak_bytes > s->capacity_bytes || !is_faster(s, sum.step_ms))
        return MS_OK;
    ms_status status = ms_assignment_copy(s->arena, &s->costs, runs->assignment, &copy, s->err);
    return status == MS_OK ? ms_search_consider(s, &copy, yes) : status;
}

/* The fewest first layers that fit, if the most do. */
static ms_status try_runs(ms_search *s, const two_runs *runs)
{
    uint32_t fails = 0, fits = most_layers(s, runs);
    bool yes = false;
    ms_status status = fits > 0 ? try_layers(s, runs, fits, &yes) : MS_OK;
    if (!yes)
        return status;
    s->is_best_proven = false;
    for (int i = 0; i < MOST_RUN_HALVINGS && status == MS_OK && fails + 1 < fits; i++) {
        uint32_t middle = fails + (fits - fails) / 2;
        status = try_layers(s, runs, middle, &yes);
        *(yes ? &fits : &fails) = middle;
    }
    return status;
}

/* Whether of a layer from the middle another option saves no more and takes no longer. */
static bool is_dominated(const ms_search *s, uint32_t option)
{
    const uint32_t middle = s->costs.layer_count / 2;
    const ms_layer_cost *cost = &s->costs.options[option].layers[middle];
    for (uint32_t o = 0; o < s->costs.option_count; o++) {
        const ms_layer_cost *other = &s->costs.options[o].layers[middle];
        int64_t more = ms_layer_saved(other, 0) - ms_layer_saved(cost, 0);
        bool is_better = more < 0 || other->ms < cost->ms;
        if (o != option && more <= 0 && other->ms <= cost->ms && (is_better || o < option) &&
            ms_treatment_allowed(&s->costs.options[o].treatment, s->techniques))
            return true;
    }
    return false;
}

/* Options that are worth a run. */
static uint32_t list_options(const ms_search *s, uint32_t list[MS_COST_MOST_OPTIONS])
{
    uint32_t count = 0;
    for (uint32_t o = 0; o < s->costs.option_count; o++)
        if (ms_treatment_allowed(&s->costs.options[o].treatment, s->techniques) &&
            !is_dominated(s, o))
            list[count++] = o;
    return count;
}

/* With one way to make the loss. */
static ms_status try_loss(ms_search *s, const uint32_t *list, uint32_t count,
                          ms_assignment *assignment)
{
    ms_status status = MS_OK;
    for (uint32_t r = 0; r < count; r++)
        for (uint32_t f = 0; f < count && status == MS_OK; f++) {
            two_runs runs = {.first = list[f], .rest = list[r], .assignment = assignment};
            if (f != r && !ms_stop_asked(s->task->stop))
                status = try_runs(s, &runs);
        }
    return status;
}

ms_status ms_search_runs(ms_search *s, double enough_ms)
{
    const ms_choose_task task = ms_search_task(s, s->capacity_bytes);
    const uint32_t found_loss = s->has_best ? s->best.loss : 0;
    uint32_t list[MS_COST_MOST_OPTIONS], count = list_options(s, list);
    ms_assignment assignment;
    ms_status status = ms_assignment_keep_all(s->arena, &s->costs, &assignment, s->err);
    for (uint32_t i = 0; i <= s->costs.loss_count && status == MS_OK; i++) {
        assignment.loss = i == 0 ? found_loss : i - 1;
        bool is_again = i > 0 && assignment.loss == found_loss;
        if (!is_again && ms_loss_allowed(&task, assignment.loss))
            status = try_loss(s, list, count, &assignment);
        if (s->has_best && s->best_ms <= enough_ms)
            break;
    }
    return status;
}
