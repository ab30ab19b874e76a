/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "plan/choose/cost_links.h"

#include <math.h>

/* What copies in one direction and the pass beside them take of one layer. */
typedef struct pass_times {
    double compute_ms, link_ms, alone_ms;
    double own_ms; /* of its own computing, what its copies have beside them */
} pass_times;

static pass_times times_of(const ms_layer_cost *cost, uint32_t m, ms_cost_pass pass)
{
    const ms_layer_copies *c = &cost->copies[m];
    bool forward = pass == MS_COST_FORWARD;
    uint32_t count = forward ? c->send_count : c->fetch_count;
    const ms_layer_copy *copies = forward ? c->sends : c->fetches;
    pass_times t = {.compute_ms = forward ? c->forward_ms : c->backward_ms};
    for (uint32_t i = 0; i < count; i++) {
        if (copies[i].is_alone) {
            t.alone_ms += copies[i].copy_ms;
            continue;
        }
        if (forward && t.link_ms <= 0)
            t.own_ms = c->forward_ms - copies[i].at_ms;
        else if (!forward)
            t.own_ms = copies[i].at_ms;
        t.link_ms += copies[i].copy_ms;
    }
    return t;
}

double ms_layer_least_ms(const ms_cost_model *costs, const ms_layer_cost *cost)
{
    if (!costs->has_exact_waits)
        return cost->ms;
    double ms = cost->ms - cost->exposed_ms;
    for (uint32_t m = 0; m < costs->micro_steps; m++)
        for (int pass = 0; pass < MS_COST_PASSES; pass++)
            ms += times_of(cost, m, (ms_cost_pass)pass).alone_ms * costs->repeats[m];
    return ms;
}

bool ms_is_no_slower(const ms_cost_model *costs, const ms_layer_cost *y, const ms_layer_cost *x)
{
    for (uint32_t m = 0; m < costs->micro_steps; m++)
        for (int pass = 0; pass < MS_COST_PASSES; pass++) {
            pass_times t = times_of(y, m, (ms_cost_pass)pass);
            if (t.link_ms > 0 || t.alone_ms > 0 ||
                t.compute_ms > times_of(x, m, (ms_cost_pass)pass).compute_ms)
                return false;
        }
    return true;
}

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
            most = fmax(most, times_of(p->blocks[i].cost, m, pass).compute_ms);
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
        pass_times t = times_of(b->cost, m, pass);
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
        pass_times t = times_of(b->cost, m, pass);
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
}
