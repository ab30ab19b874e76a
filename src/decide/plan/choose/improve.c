/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "decide/plan/choose/improve.h"

#include <math.h>
#include <string.h>

#include "decide/plan/choose/arrange.h"

/* What an assignment takes at the least, by sums that a change of one layer changes by a little:
 * most changes are refused without more than that. */
typedef struct floor_sums {
    double cost;                       /* without waiting, where that is counted exactly */
    int64_t made[MS_COST_MICRO_STEPS]; /* by forward, and live in the loss */
} floor_sums;

typedef struct search {
    const ms_cost_problem *p;
    const ms_choose_task *task; /* the problem's, or one that counts what is saved too */
    ms_assignment now;
    floor_sums least;
    double cost;    /* INFINITY: it exceeds a limit */
    double excess;  /* by so many bytes */
    uint32_t left;  /* sums */
    uint64_t state; /* of pseudo-random numbers */
} search;

static const ms_layer_cost *cost_at(const ms_cost_model *costs, const uint32_t *options, uint32_t i)
{
    return &costs->options[options[i]].layers[i];
}

double ms_assignment_cost(const ms_choose_task *task, const ms_assignment *assignment, double most)
{
    const ms_cost_limits limits = {UINT64_MAX, task->limit_bytes, task->loss_limit_bytes, most};
    ms_cost_sum sum = ms_assignment_sum_within(task->costs, assignment, &limits);
    for (uint32_t i = 0; i < task->costs->layer_count && !isinf(sum.step_ms); i++)
        sum.step_ms += ms_choose_effort(task, cost_at(task->costs, assignment->options, i));
    return sum.step_ms;
}

static double excess_of(const ms_choose_task *task, const ms_assignment *assignment)
{
    const ms_cost_sum sum = ms_assignment_bytes(task->costs, assignment);
    double level = (double)sum.level_bytes - (double)task->limit_bytes,
           loss = (double)sum.loss_bytes - (double)task->loss_limit_bytes;
    return fmax(0, fmax(level, loss));
}

/* ---- what it takes at the least ---- */

static void add_layer(search *s, uint32_t layer, int sign)
{
    const ms_cost_model *costs = s->p->costs;
    const ms_layer_cost *c = cost_at(costs, s->now.options, layer);
    double waits = costs->has_exact_waits ? c->exposed_ms : 0;
    s->least.cost += sign * (c->ms - waits + ms_choose_effort(s->task, c));
    for (uint32_t m = 0; m < costs->micro_steps; m++) {
        int64_t made = c->bytes[m].forward_end - c->bytes[m].input;
        if (layer + 1 < costs->layer_count)
            made -= (int64_t)c->released_bytes;
        s->least.made[m] += sign * made;
    }
}

static void set_option(search *s, uint32_t layer, uint32_t option)
{
    add_layer(s, layer, -1);
    s->now.options[layer] = option;
    add_layer(s, layer, 1);
}

static void sum_least(search *s)
{
    const ms_cost_model *costs = s->p->costs;
    s->least = (floor_sums){.cost = costs->losses[s->now.loss].ms};
    for (uint32_t i = 0; i < costs->layer_count; i++)
        add_layer(s, i, 1);
}

static const double least_gain = 1e-9;

/* By how much it exceeds the limits at the least: bytes. */
static double least_excess(const search *s)
{
    const ms_choose_task *task = s->task;
    const ms_outer_cost *ends = &task->costs->losses[s->now.loss];
    double limit = fmin((double)task->limit_bytes, (double)task->loss_limit_bytes), most = 0;
    for (uint32_t m = 0; m < task->costs->micro_steps; m++)
        most = fmax(most, (double)(ends->loss_peak[m] + s->least.made[m] + ends->fixed_bytes));
    return fmax(0, most - limit);
}

/* Whether the cost cannot fall by least_gain, or the excess at all. */
static bool is_hopeless(const search *s)
{
    if (isinf(s->cost))
        return !(least_excess(s) < s->excess);
    /* sums of changes are not exact */
    return s->least.cost > s->cost * (1 - least_gain / 2) || least_excess(s) > 0;
}

/* ---- accepting ---- */

/* While limits are exceeded, what exceeds them less is of use. */
static bool accept_less(search *s)
{
    double excess = excess_of(s->task, &s->now);
    if (!(excess < s->excess))
        return false;
    s->excess = excess;
    if (excess <= 0)
        s->cost = ms_assignment_cost(s->task, &s->now, INFINITY);
    return true;
}

/* Keeps a change that has been made if it is of use; else the caller takes it back. */
static bool accept(search *s)
{
    if (s->left == 0)
        return false;
    s->left--;
    if (is_hopeless(s))
        return false;
    if (isinf(s->cost))
        return accept_less(s);
    double cost = ms_assignment_cost(s->task, &s->now, s->cost);
    if (!(cost < s->cost * (1 - least_gain)))
        return false;
    s->cost = cost;
    return true;
}

/* ---- moves ---- */

static bool replace_one(search *s, uint32_t layer, uint32_t segment)
{
    bool has_changed = false;
    for (uint32_t i = 0; i < s->p->block_count; i++) {
        uint32_t before = s->now.options[layer];
        if (s->p->blocks[i].segment != segment || s->p->blocks[i].option == before)
            continue;
        set_option(s, layer, s->p->blocks[i].option);
        if (accept(s))
            has_changed = true;
        else
            set_option(s, layer, before);
    }
    return has_changed;
}

static uint32_t segment_of(const ms_cost_model *costs, uint32_t layer)
{
    uint32_t segment = 0;
    while (costs->segments[segment + 1] <= layer)
        segment++;
    return segment;
}

static bool replace(search *s)
{
    const ms_cost_model *costs = s->p->costs;
    bool has_changed = false;
    for (uint32_t layer = 0; layer < costs->layer_count && s->left > 0; layer++)
        has_changed |= replace_one(s, layer, segment_of(costs, layer));
    return has_changed;
}

static void swap(search *s, uint32_t a, uint32_t b)
{
    uint32_t option = s->now.options[a];
    set_option(s, a, s->now.options[b]);
    set_option(s, b, option);
}

static bool swap_layers(search *s)
{
    const ms_cost_model *costs = s->p->costs;
    bool has_changed = false;
    for (uint32_t g = 0; g < costs->segment_count; g++)
        for (uint32_t a = costs->segments[g]; a < costs->segments[g + 1]; a++)
            for (uint32_t b = a + 1; b < costs->segments[g + 1] && s->left > 0; b++) {
                if (s->now.options[a] == s->now.options[b])
                    continue;
                swap(s, a, b);
                if (accept(s))
                    has_changed = true;
                else
                    swap(s, a, b);
            }
    return has_changed;
}

static uint32_t random_below(search *s, uint32_t count)
{
    s->state = s->state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((s->state >> 33) % count);
}

/* Two layers get other options at once: what one frees the other may save. */
static bool exchange(search *s, uint32_t tries)
{
    const ms_cost_problem *p = s->p;
    bool has_changed = false;
    for (uint32_t t = 0; t < tries && s->left > 0; t++) {
        const ms_cost_block *x = &p->blocks[random_below(s, p->block_count)],
                            *y = &p->blocks[random_below(s, p->block_count)];
        uint32_t a = p->costs->segments[x->segment] + random_below(s, x->size),
                 b = p->costs->segments[y->segment] + random_below(s, y->size);
        uint32_t before_a = s->now.options[a], before_b = s->now.options[b];
        if (a == b || x->option == before_a || y->option == before_b)
            continue;
        set_option(s, a, x->option);
        set_option(s, b, y->option);
        if (accept(s)) {
            has_changed = true;
            continue;
        }
        set_option(s, a, before_a);
        set_option(s, b, before_b);
    }
    return has_changed;
}

static void climb(search *s)
{
    bool more = true;
    sum_least(s);
    s->cost = ms_assignment_cost(s->task, &s->now, INFINITY);
    s->excess = isinf(s->cost) ? excess_of(s->task, &s->now) : 0;
    while (more && s->left > 0) {
        more = swap_layers(s);
        more |= replace(s);
        more |= exchange(s, s->left / 4);
    }
}

/* Of the step's time, for all of the limit's bytes. */
static const double worth_saving = 0.0003;

/* ---- orders to begin with ---- */

/* Every option of a segment evenly among the others. */
static ms_status spread(ms_arena *arena, const ms_cost_problem *p, ms_assignment *assignment,
                        ms_error *err)
{
    const ms_cost_model *costs = p->costs;
    uint32_t *counts = ms_arena_array(arena, uint32_t, 2 * (size_t)costs->option_count);
    if (!counts)
        return ms_fail(err, MS_ERR_NOMEM, "out of memory for the plan's options");
    uint32_t *placed = counts + costs->option_count;
    for (uint32_t g = 0; g < costs->segment_count; g++) {
        uint32_t first = costs->segments[g], size = costs->segments[g + 1] - first;
        memset(counts, 0, 2 * sizeof *counts * costs->option_count);
        for (uint32_t i = 0; i < size; i++)
            counts[assignment->options[first + i]]++;
        for (uint32_t i = 0; i < size; i++) {
            uint32_t next = 0;
            double most = -INFINITY;
            for (uint32_t o = 0; o < costs->option_count; o++) {
                double owed = (double)counts[o] * (i + 0.5) / size - placed[o];
                if (counts[o] > placed[o] && owed > most) {
                    most = owed;
                    next = o;
                }
            }
            placed[next]++;
            assignment->options[first + i] = next;
        }
    }
    return MS_OK;
}

static void consider(const search *s, ms_assignment *best, double *cost)
{
    if (!(s->cost < *cost))
        return;
    *cost = s->cost;
    best->loss = s->now.loss;
    memcpy(best->options, s->now.options, s->p->costs->layer_count * sizeof *best->options);
}

typedef ms_status (*order)(ms_arena *arena, const ms_cost_problem *p, ms_assignment *assignment,
                           ms_error *err);

static ms_status as_it_is(ms_arena *arena, const ms_cost_problem *p, ms_assignment *assignment,
                          ms_error *err)
{
    (void)arena, (void)p, (void)assignment, (void)err;
    return MS_OK;
}

/* What saves less at the same time first, as changes that are faster have room then. */
static void climb_twice(search *s)
{
    const uint32_t left = s->left;
    ms_choose_task saving = *s->p->task;
    double ms = ms_assignment_sum(s->p->costs, &s->now).step_ms;
    if (saving.saved_ms_per_mib <= 0) {
        saving.saved_ms_per_mib = worth_saving * ms / ((double)saving.limit_bytes / MS_MIB);
        s->task = &saving;
        s->left = left / 2;
        climb(s);
        s->left += left - left / 2;
    }
    s->task = s->p->task;
    climb(s);
}

/* The last where rows of queues say what it needs. */
static const order orders[] = {as_it_is, spread, ms_assignment_arrange};
enum { ORDERS = sizeof orders / sizeof *orders };

ms_status ms_assignment_improve(ms_arena *arena, const ms_cost_problem *p, uint32_t evaluations,
                                uint64_t seed, ms_assignment *assignment, ms_error *err)
{
    double cost = ms_assignment_cost(p->task, assignment, INFINITY);
    ms_assignment start;
    ms_status status = ms_assignment_copy(arena, p->costs, assignment, &start, err);
    search s = {.p = p, .state = seed};
    int count = p->queue_count > 0 ? ORDERS : ORDERS - 1;
    for (int i = 0; i < count && status == MS_OK && p->block_count > 0; i++) {
        s.left = evaluations / 2;
        status = ms_assignment_copy(arena, p->costs, &start, &s.now, err);
        if (status == MS_OK)
            status = orders[i](arena, p, &s.now, err);
        if (status != MS_OK)
            break;
        climb_twice(&s);
        consider(&s, assignment, &cost);
    }
    return status;
}
