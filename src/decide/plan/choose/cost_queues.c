/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "decide/plan/choose/cost_queues.h"

#include <math.h>
#include <string.h>

#include "decide/plan/solver/problem.h"

/* ---- one layer ---- */

ms_queue_layer ms_queue_layer_of(const ms_layer_cost *cost, uint32_t m, ms_cost_pass pass)
{
    const ms_pass_times t = ms_layer_pass_times(cost, m, pass);
    ms_queue_layer q = {.pass_ms = t.compute_ms + t.alone_ms, .link_ms = t.link_ms};
    if (t.link_ms > 0)
        q.at_ms = pass == MS_COST_FORWARD ? t.compute_ms - t.own_ms : t.own_ms + t.alone_ms;
    return q;
}

double ms_queue_state_after(const ms_queue_layer *q, ms_cost_pass pass, double state, double *wait)
{
    if (pass == MS_COST_FORWARD) {
        *wait = fmax(state - q->pass_ms, 0);
        double end = q->link_ms > 0 ? fmax(state, q->at_ms) + q->link_ms : state;
        return fmax(end - q->pass_ms - *wait, 0);
    }
    double left = q->link_ms > 0 ? fmax(q->link_ms + state, 0) : 0;
    *wait = fmax(left - q->at_ms, 0);
    return fmin(left - q->pass_ms - *wait, 0);
}

static /* ---- states ---- */

    uint32_t
    queue_index(const ms_queue_states *s, double at)
{
    uint32_t i = 0;
    while (i + 2 < s->count && s->at[i + 1] <= at)
        i++;
    return i;
}

/* How far it is from state i to the next: 0 to 1. */
static double queue_share(const ms_queue_states *s, uint32_t i, double at)
{
    double share = (at - s->at[i]) / (s->at[i + 1] - s->at[i]);
    return fmin(fmax(share, 0), 1);
}

static double queue_worth(const ms_queue_states *s, double at)
{
    uint32_t i = queue_index(s, at);
    return s->worth[i] + queue_share(s, i, at) * (s->worth[i + 1] - s->worth[i]);
}

/* Between others it is worth what it was. False where there is one nearer than `nearest`, or there
 * are `most` already. */
static bool queue_add_state(ms_queue_states *s, double at, double nearest, uint32_t most)
{
    uint32_t i = 0;
    double worth = s->count > 1 ? queue_worth(s, at) : 0;
    while (i < s->count && s->at[i] < at)
        i++;
    if (s->count >= most || (i > 0 && at - s->at[i - 1] < nearest) ||
        (i < s->count && s->at[i] - at < nearest))
        return false;
    memmove(s->at + i + 1, s->at + i, (s->count - i) * sizeof *s->at);
    memmove(s->worth + i + 1, s->worth + i, (s->count - i) * sizeof *s->worth);
    s->at[i] = at;
    s->worth[i] = worth;
    s->count++;
    return true;
}

/* ---- cost queues ---- */

/* The states of the layers at first, and with those that the worths turn out to need. */
enum { FIRST_STATES = 20, MOST_KINDS = 24, MOST_QUEUES = 24, MOST_TRIES = 12 };

struct ms_cost_queue {
    uint32_t m;
    ms_cost_pass pass;
    double *weights; /* ms: by segment and option */
    double constant; /* wait >= sum of the layers' weights + constant */
    ms_queue_states states;
};

/* ---- a solution's layers ---- */

typedef struct kind {
    ms_queue_layer layer;
    double count;
} kind;

typedef struct queue {
    const ms_cost_problem *p;
    uint32_t m;
    ms_cost_pass pass;
    kind kinds[MOST_KINDS];
    uint32_t kind_count;
    double pass_ms;     /* of all layers */
    double nearest;     /* that states are to each other */
    double unit;        /* of weights */
    double first, last; /* states before the first layer of the pass, and behind the last at most */
    ms_queue_states states;
} queue;

static bool is_alike(const ms_queue_layer *a, const ms_queue_layer *b)
{
    return fabs(a->pass_ms - b->pass_ms) + fabs(a->link_ms - b->link_ms) +
               fabs(a->at_ms - b->at_ms) <
           1e-6 * a->pass_ms;
}

/* Layers that are alike are one kind; beyond the most kinds they are not considered here. */
static void add_kind(queue *q, const ms_queue_layer *layer, double count)
{
    uint32_t i = 0;
    while (i < q->kind_count && !is_alike(&q->kinds[i].layer, layer))
        i++;
    if (i == MOST_KINDS)
        return;
    if (i == q->kind_count)
        q->kinds[q->kind_count++] = (kind){.layer = *layer};
    q->kinds[i].count += count;
}

/* What the outermost layers bring and leave, whatever options they have; the least and the most. */
static void add_outer_states(queue *q)
{
    bool forward = q->pass == MS_COST_FORWARD;
    uint32_t count = q->p->costs->segment_count, first = forward ? 0 : count - 1,
             last = forward ? count - 1 : 0;
    double most_link = 0, most_pass = 0;
    q->last = -INFINITY;
    for (uint32_t i = 0; i < q->p->block_count; i++) {
        const ms_cost_block *b = &q->p->blocks[i];
        ms_queue_layer layer = ms_queue_layer_of(b->cost, q->m, q->pass);
        double wait, most = forward ? layer.link_ms : 0;
        most_link = fmax(most_link, layer.link_ms);
        most_pass = fmax(most_pass, layer.pass_ms);
        if (b->segment == last)
            q->last =
                fmax(q->last, ms_queue_state_after(&layer, q->pass,
                                                   forward ? most + layer.pass_ms : 0, &wait));
        if (b->segment == first && !forward && layer.link_ms > 0)
            q->first = -INFINITY;
    }
    double least = forward ? 0 : -most_pass;
    q->first = fmax(q->first, least);
    queue_add_state(&q->states, least, 0, MS_QUEUE_MOST_STATES);
    queue_add_state(&q->states, fmax(forward ? most_link : 0, least + 1e-3), 0,
                    MS_QUEUE_MOST_STATES);
}

/* States that the layers lead to, one step after the other, until there is no place. */
static void add_states(queue *q)
{
    double list[FIRST_STATES];
    uint32_t count = 0;
    list[count++] = q->first;
    queue_add_state(&q->states, q->first, q->nearest, FIRST_STATES);
    for (uint32_t next = 0; next < count; next++)
        for (uint32_t k = 0; k < q->kind_count; k++) {
            double wait,
                after = ms_queue_state_after(&q->kinds[k].layer, q->pass, list[next], &wait);
            if (count < FIRST_STATES &&
                queue_add_state(&q->states, after, q->nearest, FIRST_STATES))
                list[count++] = after;
        }
}

static void read_solution(queue *q, const ms_solution *solution)
{
    for (uint32_t i = 0; i < q->p->block_count; i++) {
        const ms_cost_block *b = &q->p->blocks[i];
        double count = solution->values[b->count_column];
        ms_queue_layer layer = ms_queue_layer_of(b->cost, q->m, q->pass);
        if (count > 1e-6) {
            add_kind(q, &layer, count);
            q->pass_ms += count * layer.pass_ms;
        }
    }
}

/* ---- worths ---- */

/* Terms of sign * worth(at), relative to the first state's: steps[i] is what state i + 1 has more
 * than state i. */
static void add_worth(double *steps, const ms_queue_states *s, double at, double sign)
{
    uint32_t i = queue_index(s, at);
    for (uint32_t k = 0; k < i; k++)
        steps[k] += sign;
    steps[i] += sign * queue_share(s, i, at);
}

/* Columns: the steps of worth, and what a layer of each kind weighs at the least. */
static void add_columns(const queue *q, ms_problem *problem)
{
    double ends[MS_QUEUE_MOST_STATES] = {0};
    add_worth(ends, &q->states, q->last, 1);
    add_worth(ends, &q->states, q->first, -1);
    for (uint32_t i = 0; i + 1 < q->states.count; i++)
        ms_problem_column(problem, (ms_problem_bounds){0, q->states.at[i + 1] - q->states.at[i]},
                          ends[i], false);
    for (uint32_t k = 0; k < q->kind_count; k++)
        ms_problem_column(problem, (ms_problem_bounds){-INFINITY, INFINITY}, -q->kinds[k].count,
                          false);
}

/* weight - worth(after) + worth(before) <= wait */
static void add_row(const queue *q, ms_problem *problem, uint32_t k, double before)
{
    double steps[MS_QUEUE_MOST_STATES] = {0}, wait;
    double after = ms_queue_state_after(&q->kinds[k].layer, q->pass, before, &wait);
    uint32_t count = q->states.count - 1;
    ms_problem_row(problem, (ms_problem_bounds){-INFINITY, wait});
    add_worth(steps, &q->states, after, -1);
    add_worth(steps, &q->states, before, 1);
    for (uint32_t i = 0; i < count; i++)
        if (steps[i] != 0)
            ms_problem_term(problem, i, steps[i]);
    ms_problem_term(problem, count + k, 1);
}

static void read_worths(ms_queue_states *s, const ms_solution *solution)
{
    s->worth[0] = 0;
    for (uint32_t i = 0; i + 1 < s->count; i++) {
        double step = fmin(fmax(solution->values[i], 0), s->at[i + 1] - s->at[i]);
        s->worth[i + 1] = s->worth[i] + step;
    }
}

static double weigh_in(const queue *q, const ms_queue_layer *layer, double state)
{
    const ms_queue_states *s = &q->states;
    double wait, before = fmin(fmax(state, s->at[0]), s->at[s->count - 1]);
    double after = ms_queue_state_after(layer, q->pass, before, &wait);
    return wait + queue_worth(s, after) - queue_worth(s, before);
}

typedef struct lightest {
    double ms, state; /* the least, and where */
} lightest;

static void consider(const queue *q, const ms_queue_layer *layer, double state, lightest *least)
{
    double ms = weigh_in(q, layer, state);
    if (ms < least->ms)
        *least = (lightest){ms, state};
}

/* The least in any state: between these all is straight. */
static lightest weight_of(const queue *q, const ms_queue_layer *layer)
{
    const double corners[] = {layer->at_ms, layer->pass_ms, -layer->link_ms,
                              layer->at_ms - layer->link_ms};
    lightest least = {.ms = INFINITY};
    for (size_t i = 0; i < sizeof corners / sizeof *corners; i++)
        consider(q, layer, corners[i], &least);
    for (uint32_t i = 0; i < q->states.count; i++) {
        double at = q->states.at[i];
        consider(q, layer, at, &least);
        consider(q, layer, at - layer->link_ms + layer->pass_ms, &least);
    }
    return least;
}

/* Adds the states in which layers weigh less than the linear problem knew. */
static bool add_corners(queue *q, const double *weights)
{
    ms_queue_states *s = &q->states;
    bool is_new = false;
    for (uint32_t k = 0; k < q->kind_count; k++) {
        lightest w = weight_of(q, &q->kinds[k].layer);
        double state = fmin(fmax(w.state, s->at[0]), s->at[s->count - 1]);
        if (q->kinds[k].count * (weights[k] - w.ms) > 1e-5 * q->pass_ms)
            is_new |= queue_add_state(s, state, q->nearest / 8, MS_QUEUE_MOST_STATES);
    }
    return is_new;
}

/* The best worths over the states that there are; again where that adds one. */
static ms_status find_worths_once(queue *q, bool *found, bool *again, ms_error *err)
{
    ms_problem problem = {0};
    ms_solution solution = {0};
    const ms_solver_options options = {.time_limit_s = INFINITY};
    add_columns(q, &problem);
    for (uint32_t k = 0; k < q->kind_count; k++)
        for (uint32_t i = 0; i < q->states.count; i++)
            add_row(q, &problem, k, q->states.at[i]);
    ms_status status = ms_problem_relax(&problem, &options, &solution, err);
    *found = status == MS_OK && solution.has_solution;
    *again = false;
    if (*found) {
        read_worths(&q->states, &solution);
        *again = add_corners(q, solution.values + q->states.count - 1);
    }
    ms_solution_free(&solution);
    ms_problem_free(&problem);
    return status;
}

/* As states are added, what is found approaches the best. */
static ms_status find_worths(queue *q, bool *found, ms_error *err)
{
    bool again = true;
    ms_status status = MS_OK;
    for (int i = 0; i < MOST_TRIES && again && status == MS_OK; i++)
        status = find_worths_once(q, found, &again, err);
    return status;
}

/* ---- a row ---- */

/* Tiny coefficients make a solver's steps tiny. */
static double rounded_down(double ms, double unit)
{
    return floor(ms / unit) * unit;
}

static double *weight_at(const ms_cost_model *costs, const ms_cost_queue *row, uint32_t segment,
                         uint32_t option)
{
    return &row->weights[segment * costs->option_count + option];
}

static ms_status make_row(ms_arena *arena, const queue *q, ms_cost_queue *row, ms_error *err)
{
    const ms_cost_problem *p = q->p;
    *row = (ms_cost_queue){.m = q->m, .pass = q->pass, .states = q->states};
    row->constant = queue_worth(&q->states, q->first) - queue_worth(&q->states, q->last);
    row->weights =
        ms_arena_array(arena, double, (size_t)p->costs->segment_count * p->costs->option_count);
    if (!row->weights)
        return ms_fail(err, MS_ERR_NOMEM, "out of memory for the plan's rows");
    for (uint32_t i = 0; i < p->block_count; i++) {
        const ms_cost_block *b = &p->blocks[i];
        ms_queue_layer layer = ms_queue_layer_of(b->cost, q->m, q->pass);
        *weight_at(p->costs, row, b->segment, b->option) =
            rounded_down(weight_of(q, &layer).ms, q->unit);
    }
    return MS_OK;
}

/* By how much the solution waits too little. */
static double missing(const ms_cost_problem *p, const ms_cost_queue *row,
                      const ms_solution *solution)
{
    double sum = row->constant - solution->values[p->wait_columns[row->m][row->pass]];
    for (uint32_t i = 0; i < p->block_count; i++) {
        const ms_cost_block *b = &p->blocks[i];
        sum += solution->values[b->count_column] * *weight_at(p->costs, row, b->segment, b->option);
    }
    return sum;
}

static ms_status find_row(ms_arena *arena, queue *q, const ms_solution *solution, bool *is_needed,
                          ms_cost_queue *row, ms_error *err)
{
    bool found = false;
    read_solution(q, solution);
    double layer_ms = q->pass_ms / q->p->costs->layer_count;
    q->nearest = 2e-3 * layer_ms;
    q->unit = 1e-4 * layer_ms;
    add_outer_states(q);
    add_states(q);
    ms_status status = find_worths(q, &found, err);
    if (status != MS_OK || !found)
        return status;
    status = make_row(arena, q, row, err);
    *is_needed = status == MS_OK && missing(q->p, row, solution) > 1e-4 * q->pass_ms;
    return status;
}

ms_status ms_cost_queues_find(ms_arena *arena, ms_cost_problem *p, const ms_solution *solution,
                              uint32_t *added, ms_error *err)
{
    *added = 0;
    if (!p->has_waits || !solution->has_solution)
        return MS_OK;
    if (!p->queues)
        p->queues = ms_arena_array(arena, ms_cost_queue, MOST_QUEUES);
    if (!p->queues)
        return ms_fail(err, MS_ERR_NOMEM, "out of memory for the plan's rows");
    for (uint32_t m = 0; m < p->costs->micro_steps; m++)
        for (int pass = 0; pass < MS_COST_PASSES && p->queue_count < MOST_QUEUES; pass++) {
            queue q = {.p = p, .m = m, .pass = (ms_cost_pass)pass};
            bool is_needed = false;
            ms_status status =
                find_row(arena, &q, solution, &is_needed, &p->queues[p->queue_count], err);
            if (status != MS_OK)
                return status;
            p->queue_count += is_needed;
            *added += is_needed;
        }
    return MS_OK;
}

void ms_cost_queues_add_rows(ms_cost_problem *p)
{
    for (uint32_t k = 0; k < p->queue_count; k++) {
        const ms_cost_queue *row = &p->queues[k];
        ms_problem_row(&p->problem, (ms_problem_bounds){-INFINITY, -row->constant});
        ms_problem_term(&p->problem, p->wait_columns[row->m][row->pass], -1);
        for (uint32_t i = 0; i < p->block_count; i++) {
            const ms_cost_block *b = &p->blocks[i];
            double weight = *weight_at(p->costs, row, b->segment, b->option);
            if (weight != 0)
                ms_problem_term(&p->problem, b->count_column, weight);
        }
    }
}

static double sum_of(const ms_cost_model *costs, const ms_cost_queue *row, const uint32_t *options)
{
    double sum = row->constant;
    for (uint32_t s = 0; s < costs->segment_count; s++)
        for (uint32_t i = costs->segments[s]; i < costs->segments[s + 1]; i++)
            sum += *weight_at(costs, row, s, options[i]);
    return sum;
}

double ms_cost_queues_wait(const ms_cost_problem *p, const uint32_t *options, uint32_t m)
{
    double most[MS_COST_PASSES] = {0};
    for (uint32_t k = 0; k < p->queue_count; k++) {
        const ms_cost_queue *row = &p->queues[k];
        if (row->m == m)
            most[row->pass] = fmax(most[row->pass], sum_of(p->costs, row, options));
    }
    return most[MS_COST_FORWARD] + most[MS_COST_BACKWARD];
}

const ms_cost_queue *ms_cost_queues_longest(const ms_cost_problem *p, const uint32_t *options,
                                            uint32_t m)
{
    const ms_cost_queue *longest = NULL;
    double most = -INFINITY;
    for (uint32_t k = 0; k < p->queue_count; k++) {
        double sum = sum_of(p->costs, &p->queues[k], options);
        if (p->queues[k].m != m || sum <= most)
            continue;
        most = sum;
        longest = &p->queues[k];
    }
    return longest;
}

ms_cost_pass ms_cost_queue_pass(const ms_cost_queue *row)
{
    return row->pass;
}

double ms_cost_queue_worth(const ms_cost_queue *row, double state)
{
    return queue_worth(&row->states, state);
}

double ms_cost_queue_weight(const ms_cost_problem *p, const ms_cost_queue *row, uint32_t segment,
                            uint32_t option)
{
    return *weight_at(p->costs, row, segment, option);
}
