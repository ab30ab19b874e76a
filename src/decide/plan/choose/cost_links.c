/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "decide/plan/choose/cost_links.h"

#include <math.h>

#include "decide/plan/choose/cost_passes.h"
#include "decide/plan/choose/cost_queues.h"

static bool has_copies(const ms_cost_problem *p)
{
    for (uint32_t i = 0; i < p->block_count; i++)
        if (p->blocks[i].cost->sent_bytes > 0)
            return true;
    return false;
}

void ms_cost_links_add_columns(ms_cost_problem *p)
{
    p->has_waits = p->costs->has_exact_waits && has_copies(p);
    double weight = p->task->aim == MS_LEAST_TIME ? 1 : 1e-6;
    for (uint32_t m = 0; m < p->costs->micro_steps && p->has_waits; m++)
        for (int pass = 0; pass < MS_COST_PASSES; pass++)
            p->wait_columns[m][pass] =
                ms_problem_column(&p->problem, (ms_problem_bounds){0, INFINITY},
                                  p->costs->repeats[m] * weight, false);
}

/* The longest that a layer of the segment computes. */
static double longest(const ms_cost_problem *p, uint32_t segment, uint32_t m, ms_cost_pass pass)
{
    double most = 0;
    for (uint32_t i = 0; i < p->block_count; i++)
        if (p->blocks[i].segment == segment)
            most = fmax(most, ms_layer_pass_times(p->blocks[i].cost, m, pass).compute_ms);
    return most;
}

/* sum (link - compute) - wait <= what the layer above computes, over segments first .. last */
static void add_range_row(ms_cost_problem *p, uint32_t first, uint32_t last, uint32_t m,
                          ms_cost_pass pass)
{
    double above = last + 1 < p->costs->segment_count ? longest(p, last + 1, m, pass) : 0;
    ms_problem_row(&p->problem, (ms_problem_bounds){-INFINITY, above});
    ms_problem_term(&p->problem, p->wait_columns[m][pass], -1);
    for (uint32_t i = 0; i < p->block_count; i++) {
        const ms_cost_block *b = &p->blocks[i];
        if (b->segment < first || b->segment > last)
            continue;
        ms_pass_times t = ms_layer_pass_times(b->cost, m, pass);
        ms_problem_term(&p->problem, b->count_column, t.link_ms - t.compute_ms);
    }
}

/* sum of what each layer waits for its own copies at the least - wait <= 0 */
static void add_own_row(ms_cost_problem *p, uint32_t m, ms_cost_pass pass)
{
    ms_problem_row(&p->problem, (ms_problem_bounds){-INFINITY, 0});
    ms_problem_term(&p->problem, p->wait_columns[m][pass], -1);
    for (uint32_t i = 0; i < p->block_count; i++) {
        const ms_cost_block *b = &p->blocks[i];
        bool is_last = b->segment + 1 == p->costs->segment_count;
        double above = longest(p, b->segment, m, pass);
        above = fmax(above, is_last ? 0 : longest(p, b->segment + 1, m, pass));
        ms_pass_times t = ms_layer_pass_times(b->cost, m, pass);
        double wait = t.link_ms - t.own_ms - above;
        if (wait > 0)
            ms_problem_term(&p->problem, b->count_column, wait);
    }
}

/* With more segments only ranges that begin or end with all of them, and single ones. */
enum { FEW_SEGMENTS = 6 };

void ms_cost_links_add_rows(ms_cost_problem *p)
{
    const uint32_t count = p->costs->segment_count;
    for (uint32_t m = 0; m < p->costs->micro_steps && p->has_waits; m++)
        for (int pass = 0; pass < MS_COST_PASSES; pass++) {
            for (uint32_t s = 0; s < count; s++)
                for (uint32_t t = s; t < count; t++)
                    if (count <= FEW_SEGMENTS || s == 0 || t + 1 == count || s == t)
                        add_range_row(p, s, t, m, (ms_cost_pass)pass);
            add_own_row(p, m, (ms_cost_pass)pass);
        }
    ms_cost_queues_add_rows(p);
}
