/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "decide/plan/choose/improve.h"

#include <math.h>
#include <string.h>

#include "decide/plan/choose/cost_queues.h"

/* ---- arrange ---- */

/* The order of a segment's layers in which their copies wait least. */

enum { WIDTH = 32, MOST_KINDS = 16 };

/* An option that a segment's layers have, in both passes as a search meets them. */
typedef struct kind {
    uint32_t option;
    double weight; /* what the row says of it */
    ms_queue_layer layers[MS_COST_PASSES];
} kind;

/* An order of the first layers. */
typedef struct beginning {
    double states[MS_COST_PASSES]; /* of the link, in both passes */
    double wait, known;            /* known: by the row, of its layers */
    double score;                  /* what it waits more than that, with what the state is worth */
    uint16_t left[MOST_KINDS];     /* layers of each kind, in this segment */
    uint32_t from, option;         /* the beginning that it goes on from */
} beginning;

typedef struct step {
    uint32_t from, option;
} step;

typedef struct arrange_search {
    const ms_cost_problem *p;
    const ms_cost_queue *row;
    ms_cost_pass pass;
    const uint32_t *options; /* before */
    kind kinds[MOST_KINDS];  /* of the segment */
    uint32_t kind_count;
    uint16_t left[MOST_KINDS];
    beginning best[2][WIDTH]; /* by score; of this layer and of the next */
    uint32_t count[2];
    double same; /* states that differ by less are the same: ms */
    step *steps; /* by layer as the pass meets it, and place */
} arrange_search;

/* A pass that is gone through backwards is one in the other direction: what its copies have before
 * them they have behind them there. */
static ms_queue_layer in_search(const arrange_search *s, const ms_layer_cost *cost,
                                ms_cost_pass pass)
{
    ms_queue_layer layer = ms_queue_layer_of(cost, s->p->costs->micro_steps - 1, pass);
    if (pass != s->pass && layer.link_ms > 0)
        layer.at_ms = layer.pass_ms - layer.at_ms;
    return layer;
}

/* ---- a segment ---- */

static bool count_kind(arrange_search *s, uint32_t segment, uint32_t layer)
{
    uint32_t k = 0;
    while (k < s->kind_count && s->kinds[k].option != s->options[layer])
        k++;
    if (k == MOST_KINDS)
        return false;
    if (k == s->kind_count) {
        const ms_layer_cost *cost = &s->p->costs->options[s->options[layer]].layers[layer];
        s->kinds[k] = (kind){.option = s->options[layer]};
        s->kinds[k].weight = ms_cost_queue_weight(s->p, s->row, segment, s->options[layer]);
        for (int pass = 0; pass < MS_COST_PASSES; pass++)
            s->kinds[k].layers[pass] = in_search(s, cost, (ms_cost_pass)pass);
        s->left[k] = 0;
        s->kind_count++;
    }
    s->left[k]++;
    return true;
}

/* The kinds of a segment, in the order in which the pass meets them now. */
static bool begin_segment(arrange_search *s, uint32_t segment)
{
    const uint32_t *segments = s->p->costs->segments;
    uint32_t first = segments[segment], end = segments[segment + 1];
    bool fits = true;
    s->kind_count = 0;
    for (uint32_t i = 0; i < end - first && fits; i++)
        fits = count_kind(s, segment, s->pass == MS_COST_FORWARD ? first + i : end - 1 - i);
    return fits;
}

/* ---- the beam ---- */

static bool is_same(const arrange_search *s, const beginning *a, const beginning *b)
{
    return fabs(a->states[0] - b->states[0]) < s->same &&
           fabs(a->states[1] - b->states[1]) < s->same &&
           memcmp(a->left, b->left, s->kind_count * sizeof *a->left) == 0;
}

static void offer(arrange_search *s, uint32_t side, const beginning *b)
{
    beginning *list = s->best[side];
    uint32_t *count = &s->count[side];
    for (uint32_t i = 0; i < *count; i++) {
        if (!is_same(s, &list[i], b))
            continue;
        if (list[i].score <= b->score)
            return;
        memmove(list + i, list + i + 1, (*count - i - 1) * sizeof *list);
        --*count;
        break;
    }
    uint32_t at = *count;
    while (at > 0 && list[at - 1].score > b->score)
        at--;
    if (at == WIDTH)
        return;
    uint32_t kept = *count < WIDTH ? *count : WIDTH - 1;
    memmove(list + at + 1, list + at, (kept - at) * sizeof *list);
    list[at] = *b;
    *count = kept + 1;
}

static void go_on(arrange_search *s, uint32_t side, uint32_t from, uint32_t k)
{
    beginning next = s->best[side][from];
    for (int pass = 0; pass < MS_COST_PASSES; pass++) {
        double wait;
        next.states[pass] =
            ms_queue_state_after(&s->kinds[k].layers[pass], s->pass, next.states[pass], &wait);
        next.wait += wait;
    }
    next.left[k]--;
    next.known += s->kinds[k].weight;
    next.score = next.wait - next.known + ms_cost_queue_worth(s->row, next.states[s->pass]);
    next.from = from;
    next.option = s->kinds[k].option;
    offer(s, 1 - side, &next);
}

/* All beginnings get a layer more. */
static void take_layer(arrange_search *s, uint32_t side, step *steps)
{
    s->count[1 - side] = 0;
    for (uint32_t i = 0; i < s->count[side]; i++)
        for (uint32_t k = 0; k < s->kind_count; k++)
            if (s->best[side][i].left[k] > 0)
                go_on(s, side, i, k);
    for (uint32_t i = 0; i < s->count[1 - side]; i++)
        steps[i] = (step){s->best[1 - side][i].from, s->best[1 - side][i].option};
}

static bool run(arrange_search *s)
{
    const ms_cost_model *costs = s->p->costs;
    uint32_t side = 0, done = 0;
    s->best[0][0] = (beginning){.wait = 0};
    s->count[0] = 1;
    for (uint32_t g = 0; g < costs->segment_count; g++) {
        uint32_t segment = s->pass == MS_COST_FORWARD ? g : costs->segment_count - 1 - g;
        uint32_t size = costs->segments[segment + 1] - costs->segments[segment];
        if (!begin_segment(s, segment))
            return false;
        for (uint32_t i = 0; i < s->count[side]; i++)
            memcpy(s->best[side][i].left, s->left, sizeof s->left);
        for (uint32_t i = 0; i < size; i++, side = 1 - side)
            take_layer(s, side, s->steps + (size_t)WIDTH * done++);
    }
    return true;
}

/* The best one's options, from its last layer on. */
static void read_steps(const arrange_search *s, uint32_t *options)
{
    uint32_t count = s->p->costs->layer_count, place = 0;
    for (uint32_t done = count; done-- > 0;) {
        const step *at = &s->steps[(size_t)WIDTH * done + place];
        options[s->pass == MS_COST_FORWARD ? done : count - 1 - done] = at->option;
        place = at->from;
    }
}

/* Exchanges options of layers within their segments. A beam search goes through the layers of the
 * pass that waits most by the rows of cost_queues.h; what states of the link are worth there says
 * which beginnings are good. Bytes are not looked at. Does nothing where no row says anything, or
 * where a segment has more options in use than it takes. */
static ms_status assignment_arrange(ms_arena *arena, const ms_cost_problem *p,
                                    ms_assignment *assignment, ms_error *err)
{
    const ms_cost_queue *row =
        ms_cost_queues_longest(p, assignment->options, p->costs->micro_steps - 1);
    if (!row)
        return MS_OK;
    arrange_search s = {.p = p,
                        .row = row,
                        .pass = ms_cost_queue_pass(row),
                        .options = assignment->options,
                        .same = 1e-4};
    s.steps = ms_arena_array(arena, step, (size_t)WIDTH * p->costs->layer_count);
    if (!s.steps)
        return ms_fail(err, MS_ERR_NOMEM, "out of memory for the plan's order");
    if (run(&s))
        read_steps(&s, assignment->options);
    return MS_OK;
}

/* ---- improve ---- */

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
static const order orders[] = {as_it_is, spread, assignment_arrange};

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
