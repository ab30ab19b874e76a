/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The problem. Layers that are alike under every option form a segment; a block is an option in a
 * segment, and its column says how many layers have it.
 *
 * The order of a segment's blocks. While backward runs, each layer takes memory for its peak and
 * leaves the level changed. To keep the highest level low, those that lower it come first, smallest
 * peak first, then those that raise it, largest (peak - change) first. This is the best order for
 * any counts, so the counts are all there is to choose. Backward begins behind the last layer.
 *
 * What each of the blocks may need is in cost_levels.c.
 */
#include "decide/plan/choose/cost_problem.h"

#include <math.h>

#include "decide/plan/choose/cost_levels.h"
#include "decide/plan/choose/cost_links.h"
#include "decide/plan/choose/cost_passes.h"
#include "decide/plan/solver/problem.h"

/* ---- blocks ---- */

static bool is_dominated(const ms_layer_cost *x, const ms_layer_cost *y, const ms_cost_model *costs)
{
    if (ms_layer_least_ms(costs, y) > ms_layer_least_ms(costs, x) || y->ms > x->ms ||
        y->host_bytes > x->host_bytes || y->sent_bytes > x->sent_bytes)
        return false;
    for (uint32_t m = 0; m < costs->micro_steps; m++)
        if (ms_layer_made_bytes(y, m) > ms_layer_made_bytes(x, m) ||
            ms_layer_saved_bytes(y, m) > ms_layer_saved_bytes(x, m) ||
            ms_layer_saved_bytes(y, m) + ms_layer_backward_change_bytes(y, m) >
                ms_layer_saved_bytes(x, m) + ms_layer_backward_change_bytes(x, m) ||
            ms_layer_backward_peak_bytes(y, m) + ms_layer_saved_bytes(y, m) >
                ms_layer_backward_peak_bytes(x, m) + ms_layer_saved_bytes(x, m) ||
            ms_layer_backward_peak_bytes(y, m) > ms_layer_backward_peak_bytes(x, m) ||
            y->bytes[m].forward_peak > x->bytes[m].forward_peak)
            return false;
    return true;
}

/* Whether another option of the segment is as good in every way; of equals the first stays. */
static bool is_useless(const ms_cost_problem *p, uint32_t option, uint32_t layer)
{
    const ms_cost_option *options = p->costs->options;
    const ms_layer_cost *x = &options[option].layers[layer];
    for (uint32_t o = 0; o < p->costs->option_count; o++) {
        const ms_layer_cost *y = &options[o].layers[layer];
        if (o == option || !ms_treatment_allowed(&options[o].treatment, p->task->techniques) ||
            options[o].fixed_bytes > options[option].fixed_bytes ||
            options[o].shared_bytes > options[option].shared_bytes)
            continue;
        if (is_dominated(x, y, p->costs) && (o < option || !is_dominated(y, x, p->costs)))
            return true;
    }
    return false;
}

/* Backward takes `a` before `b`: see above. The cost model has them the other way round. */
static int in_backward_order(const ms_layer_cost *a, const ms_layer_cost *b, uint32_t m)
{
    double change_a = ms_layer_backward_change_bytes(a, m),
           change_b = ms_layer_backward_change_bytes(b, m);
    bool falls_a = change_a <= 0, falls_b = change_b <= 0;
    if (falls_a != falls_b)
        return falls_a ? -1 : 1;
    double key_a = falls_a ? ms_layer_backward_peak_bytes(a, m)
                           : change_a - ms_layer_backward_peak_bytes(a, m);
    double key_b = falls_b ? ms_layer_backward_peak_bytes(b, m)
                           : change_b - ms_layer_backward_peak_bytes(b, m);
    return key_a < key_b ? -1 : key_a > key_b;
}

static void sort_segment(ms_cost_block *blocks, uint32_t count, uint32_t m)
{
    for (uint32_t i = 1; i < count; i++)
        for (uint32_t k = i; k > 0 && in_backward_order(blocks[k - 1].cost, blocks[k].cost, m) < 0;
             k--) {
            ms_cost_block swap = blocks[k];
            blocks[k] = blocks[k - 1];
            blocks[k - 1] = swap;
        }
}

ms_status ms_cost_problem_begin(ms_arena *arena, const ms_choose_task *task, ms_cost_problem *p,
                                ms_error *err)
{
    const ms_cost_model *costs = task->costs;
    *p = (ms_cost_problem){.task = task, .costs = costs};
    p->blocks =
        ms_arena_array(arena, ms_cost_block, (size_t)costs->segment_count * costs->option_count);
    if (!p->blocks)
        return ms_fail(err, MS_ERR_NOMEM, "out of memory for the plan's blocks");
    for (uint32_t s = 0; s < costs->segment_count; s++) {
        uint32_t first = costs->segments[s], start = p->block_count;
        uint32_t middle = first + (costs->segments[s + 1] - first) / 2;
        for (uint32_t o = 0; o < costs->option_count; o++)
            if (ms_treatment_allowed(&costs->options[o].treatment, p->task->techniques) &&
                !is_useless(p, o, middle))
                p->blocks[p->block_count++] =
                    (ms_cost_block){.segment = s,
                                    .option = o,
                                    .size = costs->segments[s + 1] - first,
                                    .cost = &costs->options[o].layers[middle]};
        sort_segment(p->blocks + start, p->block_count - start, costs->micro_steps - 1);
    }
    return MS_OK;
}

/* ---- columns ---- */

static double cost_of(const ms_cost_problem *p, double ms)
{
    return p->task->aim == MS_LEAST_TIME ? ms : ms * 1e-6; /* of equal peaks the faster */
}

static uint32_t add_binary(ms_problem *q)
{
    return ms_problem_column(q, (ms_problem_bounds){0, 1}, 0, true);
}

static void add_block_columns(ms_cost_problem *p, ms_cost_block *b)
{
    ms_problem *q = &p->problem;
    b->count_column = ms_problem_column(
        q, (ms_problem_bounds){0, b->size},
        cost_of(p, ms_layer_least_ms(p->costs, b->cost) + ms_choose_effort(p->task, b->cost)),
        true);
    bool is_one = b->size == 1, sends = !is_one && b->cost->sent_bytes > 0;
    bool is_needed = b->rows || p->costs->options[b->option].fixed_bytes > 0;
    b->used_column = is_one ? b->count_column : is_needed ? add_binary(q) : MS_NONE;
    b->several_column = sends && b->rows ? add_binary(q) : MS_NONE;
}

static void add_columns(ms_cost_problem *p)
{
    double most_fixed = 0;
    for (uint32_t i = 0; i < p->block_count; i++) {
        add_block_columns(p, &p->blocks[i]);
        most_fixed = fmax(most_fixed, (double)p->costs->options[p->blocks[i].option].fixed_bytes);
    }
    for (uint32_t l = 0; l < p->costs->loss_count; l++) {
        p->loss_columns[l] =
            ms_problem_column(&p->problem, (ms_problem_bounds){0, ms_loss_allowed(p->task, l)},
                              cost_of(p, p->costs->losses[l].ms), true);
        most_fixed = fmax(most_fixed, (double)p->costs->losses[l].fixed_bytes);
    }
    p->may_have_fixed = most_fixed > 0;
    p->fixed_column =
        ms_problem_column(&p->problem, (ms_problem_bounds){0, most_fixed / MS_MIB}, 0, false);
    p->peak_column = ms_problem_column(&p->problem, (ms_problem_bounds){0, INFINITY},
                                       p->task->aim == MS_LEAST_PEAK, false);
    ms_cost_links_add_columns(p);
}

/* ---- rows ---- */

/* Every layer of a segment has one option. */
static void add_segment_rows(ms_cost_problem *p)
{
    for (uint32_t s = 0; s < p->costs->segment_count; s++) {
        double size = p->costs->segments[s + 1] - p->costs->segments[s];
        ms_problem_row(&p->problem, (ms_problem_bounds){size, size});
        for (uint32_t i = 0; i < p->block_count; i++)
            if (p->blocks[i].segment == s)
                ms_problem_term(&p->problem, p->blocks[i].count_column, 1);
    }
    ms_problem_row(&p->problem, (ms_problem_bounds){1, 1});
    for (uint32_t l = 0; l < p->costs->loss_count; l++)
        ms_problem_term(&p->problem, p->loss_columns[l], 1);
}

/* count <= size * used; count <= 1 + (size - 1) * several */
static void add_use_rows(ms_cost_problem *p, const ms_cost_block *b)
{
    if (b->size == 1 || b->used_column == MS_NONE)
        return;
    ms_problem_row(&p->problem, (ms_problem_bounds){-INFINITY, 0});
    ms_problem_term(&p->problem, b->count_column, 1);
    ms_problem_term(&p->problem, b->used_column, -(double)b->size);
    if (b->several_column == MS_NONE)
        return;
    ms_problem_row(&p->problem, (ms_problem_bounds){-INFINITY, 1});
    ms_problem_term(&p->problem, b->count_column, 1);
    ms_problem_term(&p->problem, b->several_column, 1 - (double)b->size);
}

/* fixed >= what each option in use brings */
static void add_fixed_rows(ms_cost_problem *p)
{
    for (uint32_t i = 0; i < p->block_count && p->may_have_fixed; i++) {
        double fixed = (double)p->costs->options[p->blocks[i].option].fixed_bytes / MS_MIB;
        if (fixed <= 0)
            continue;
        ms_problem_row(&p->problem, (ms_problem_bounds){0, INFINITY});
        ms_problem_term(&p->problem, p->fixed_column, 1);
        ms_problem_term(&p->problem, p->blocks[i].used_column, -fixed);
    }
    for (uint32_t l = 1; l < p->costs->loss_count && p->may_have_fixed; l++) {
        double fixed = (double)p->costs->losses[l].fixed_bytes / MS_MIB;
        if (fixed <= 0)
            continue;
        ms_problem_row(&p->problem, (ms_problem_bounds){0, INFINITY});
        ms_problem_term(&p->problem, p->fixed_column, 1);
        ms_problem_term(&p->problem, p->loss_columns[l], -fixed);
    }
}

void ms_cost_problem_build(ms_cost_problem *p)
{
    ms_problem_free(&p->problem);
    p->problem = (ms_problem){0};
    add_columns(p);
    add_segment_rows(p);
    for (uint32_t i = 0; i < p->block_count; i++)
        add_use_rows(p, &p->blocks[i]);
    add_fixed_rows(p);
    ms_cost_links_add_rows(p);
    ms_cost_levels_add(p);
}

/* ---- back to layers ---- */

void ms_cost_problem_read(const ms_cost_problem *p, const ms_solution *solution,
                          ms_assignment *assignment)
{
    uint32_t layer = 0;
    double sum = 0; /* of the segment's counts so far */
    for (uint32_t i = 0; i < p->block_count; i++) {
        const ms_cost_block *b = &p->blocks[i];
        uint32_t first = p->costs->segments[b->segment], end = p->costs->segments[b->segment + 1];
        sum = i > 0 && p->blocks[i - 1].segment == b->segment ? sum : 0;
        sum += solution->values[b->count_column];
        while (layer < end && layer < first + sum - 0.5)
            assignment->options[layer++] = b->option;
    }
    for (uint32_t l = 0; l < p->costs->loss_count; l++)
        if (solution->values[p->loss_columns[l]] > 0.5)
            assignment->loss = l;
}

double ms_cost_block_price(const ms_cost_block *b, const ms_solution *relaxed)
{
    double price = fmax(relaxed->prices[b->count_column], 0);
    if (b->used_column != MS_NONE && b->used_column != b->count_column)
        price += fmax(relaxed->prices[b->used_column], 0);
    return price;
}
