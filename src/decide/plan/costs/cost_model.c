/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Summing the costs of an assignment.
 */
#include "decide/plan/costs/cost_model.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "decide/plan/costs/collectives.h"
#include "decide/plan/costs/copies.h"

int64_t ms_layer_saved(const ms_layer_cost *cost, uint32_t m)
{
    const ms_layer_bytes *b = &cost->bytes[m];
    return b->forward_end - b->input - b->forward_late - (int64_t)cost->released_bytes;
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* What layers above the first hold of what came before them all: with each layer that holds more
 * than the ones below it, how much more than what the first layer's figures have. */
typedef struct holds {
    uint32_t count;
    struct {
        uint32_t layer;
        int64_t bytes;
    } items[4];
    int64_t to_end;
} holds;

static holds find_holds(const ms_cost_model *costs, const ms_assignment *assignment)
{
    holds h = {0};
    int64_t first = costs->options[assignment->options[0]].shared_bytes, most = 0;
    for (uint32_t i = 1; i < costs->layer_count; i++) {
        const ms_cost_option *option = &costs->options[assignment->options[i]];
        int64_t bytes = option->shared_bytes - first;
        if (option->holds_to_end)
            h.to_end = larger(h.to_end, bytes);
        if (bytes <= most)
            continue;
        most = bytes;
        h.items[h.count].layer = i;
        h.items[h.count].bytes = bytes;
        h.count += h.count + 1 < sizeof h.items / sizeof h.items[0];
    }
    return h;
}

/* While backward has not done with layer `i`. */
static int64_t held_at(const holds *h, uint32_t i)
{
    int64_t bytes = h->to_end;
    for (uint32_t k = 0; k < h->count; k++)
        if (h->items[k].layer <= i)
            bytes = larger(bytes, h->items[k].bytes);
    return bytes;
}

/* The highest levels in one micro-step. */
typedef struct levels {
    int64_t all, loss;
} levels;

static levels count_micro_step(const ms_cost_model *costs, const ms_assignment *assignment,
                               uint32_t m)
{
    const ms_outer_cost *ends = &costs->losses[assignment->loss];
    const holds h = find_holds(costs, assignment);
    int64_t level = ends->before_layers[m], made = 0, late = 0, peak = level;
    uint64_t below = 0;
    for (uint32_t i = 0; i < costs->layer_count; i++) {
        const ms_layer_cost *cost = &costs->options[assignment->options[i]].layers[i];
        peak = larger(peak, level + cost->bytes[m].forward_peak);
        level += cost->bytes[m].forward_end - (int64_t)below;
        made += cost->bytes[m].forward_end - cost->bytes[m].input - (int64_t)below;
        late += cost->bytes[m].forward_late;
        below = cost->released_bytes;
    }
    made += held_at(&h, costs->layer_count);
    int64_t loss = larger(ends->loss_peak[m] + made, ends->loss_backward_peak[m] + made - late);
    peak = larger(peak, loss);
    level = ends->before_backward[m] + made - late;
    for (uint32_t i = costs->layer_count; i-- > 0;) {
        const ms_layer_cost *cost = &costs->options[assignment->options[i]].layers[i];
        if (i > 0)
            level += (int64_t)costs->options[assignment->options[i - 1]].layers[i - 1].sent_bytes;
        peak = larger(peak, level + cost->bytes[m].backward_peak);
        level += cost->bytes[m].backward_end - held_at(&h, i) + held_at(&h, i > 0 ? i - 1 : 0);
    }
    int64_t left = level - ends->before_backward[m];
    return (levels){larger(peak, ends->after_peak[m] + left), loss};
}

/* Of the whole step; without waiting, where that is counted exactly. */
static void add_times(const ms_cost_model *costs, const ms_assignment *assignment, ms_cost_sum *sum)
{
    for (uint32_t i = 0; i < costs->layer_count; i++) {
        const ms_layer_cost *cost = &costs->options[assignment->options[i]].layers[i];
        sum->step_ms += cost->ms - cost->exposed_ms;
        sum->exposed_ms += cost->exposed_ms;
        sum->host_bytes += cost->host_bytes;
    }
    if (costs->has_exact_waits)
        sum->exposed_ms = 0;
}

static void add_bytes(const ms_cost_model *costs, const ms_assignment *assignment, ms_cost_sum *sum)
{
    const ms_outer_cost *ends = &costs->losses[assignment->loss];
    int64_t fixed = ends->fixed_bytes, level = 0, loss = 0;
    for (uint32_t i = 0; i < costs->layer_count; i++)
        fixed = larger(fixed, costs->options[assignment->options[i]].fixed_bytes);
    for (uint32_t m = 0; m < costs->micro_steps; m++) {
        levels highest = count_micro_step(costs, assignment, m);
        level = larger(level, highest.all + fixed);
        loss = larger(loss, highest.loss + fixed);
    }
    sum->level_bytes = (uint64_t)level;
    sum->loss_bytes = (uint64_t)loss;
    sum->peak_bytes = (uint64_t)larger(level, (int64_t)ends->fixed_peak + larger(fixed, 0));
}

ms_cost_sum ms_assignment_sum_within(const ms_cost_model *costs, const ms_assignment *assignment,
                                     const ms_cost_limits *limits)
{
    ms_cost_sum sum = {.step_ms = costs->losses[assignment->loss].ms};
    add_times(costs, assignment, &sum);
    bool is_within = sum.step_ms <= limits->step_ms;
    if (is_within)
        add_bytes(costs, assignment, &sum);
    if (!is_within || sum.peak_bytes > limits->peak_bytes ||
        sum.level_bytes > limits->level_bytes || sum.loss_bytes > limits->loss_bytes) {
        sum.step_ms = INFINITY;
        return sum;
    }
    const double most = limits->step_ms - sum.step_ms;
    if (costs->collectives)
        sum.exposed_ms += ms_collectives_wait_ms(costs, assignment->options, most);
    for (uint32_t m = 0; m < costs->micro_steps && costs->has_exact_waits; m++) {
        double rest = (most - sum.exposed_ms) / costs->repeats[m];
        if (rest >= 0)
            sum.exposed_ms +=
                ms_copies_wait_ms(costs, assignment->options, m, rest) * costs->repeats[m];
    }
    sum.step_ms = sum.exposed_ms > most ? INFINITY : sum.step_ms + sum.exposed_ms;
    return sum;
}

ms_cost_sum ms_assignment_sum(const ms_cost_model *costs, const ms_assignment *assignment)
{
    const ms_cost_limits none = {UINT64_MAX, UINT64_MAX, UINT64_MAX, INFINITY};
    return ms_assignment_sum_within(costs, assignment, &none);
}

ms_cost_sum ms_assignment_bytes(const ms_cost_model *costs, const ms_assignment *assignment)
{
    ms_cost_sum sum = {0};
    add_bytes(costs, assignment, &sum);
    return sum;
}

ms_status ms_assignment_copy(ms_arena *arena, const ms_cost_model *costs, const ms_assignment *from,
                             ms_assignment *to, ms_error *err)
{
    to->loss = from->loss;
    to->options = ms_arena_array(arena, uint32_t, costs->layer_count);
    if (!to->options)
        return ms_fail(err, MS_ERR_NOMEM, "out of memory for %" PRIu32 " layers",
                       costs->layer_count);
    memcpy(to->options, from->options, costs->layer_count * sizeof *to->options);
    return MS_OK;
}

void ms_assignment_fill(const ms_cost_model *costs, uint32_t option, ms_assignment *assignment)
{
    for (uint32_t i = 0; i < costs->layer_count; i++)
        assignment->options[i] = option;
}

ms_status ms_assignment_treatments(ms_arena *arena, const ms_cost_model *costs,
                                   const ms_assignment *assignment, ms_treatments *treatments,
                                   ms_error *err)
{
    treatments->layers = ms_arena_array(arena, ms_treatment, costs->layer_count);
    if (!treatments->layers)
        return ms_fail(err, MS_ERR_NOMEM, "out of memory for %" PRIu32 " layers",
                       costs->layer_count);
    for (uint32_t i = 0; i < costs->layer_count; i++)
        treatments->layers[i] = costs->options[assignment->options[i]].treatment;
    treatments->loss_chunks = costs->losses[assignment->loss].loss_chunks;
    return MS_OK;
}
