/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "plan/search/search_local.h"

#include "plan/choose/improve.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Of the moves that count as faster, so many are kept, and so many of these are run before the
 * others are made anew. */
enum { MOST_MOVES = 16384, PAIRS = 2048, RUNS_A_ROUND = 4, PATIENCE = 6, CLIMBS = 8 };

typedef enum move_kind {
    LAYERS, /* the first layer gets the first option, and the second, if there is one, the second */
    RANGE,  /* the first to the second layer get the first option: each of them, or every second */
    RECOLOUR /* all layers with the first option get the second */
} move_kind;

/* And the loss is made so. */
typedef struct move {
    move_kind kind;
    uint32_t layers[2];  /* MS_NONE: none */
    uint32_t options[2]; /* of RANGE, the second: every so many layers */
    uint32_t loss;
    double gain, more; /* shares: of the step's time, and of the capacity, in levels */
    double score;
} move;

typedef struct local {
    ms_search *s;
    ms_assignment now, changed; /* the best; room for a change of it */
    ms_cost_sum sum;            /* of the best */
    double price_of_level; /* what all of the capacity is worth, in shares of the step: live bytes
                              that the best has not may not fit */
    bool takes_slower;     /* nothing fits so far: a move need not be faster */
    move *moves;           /* of `now`, if they are made */
    uint32_t move_count;
    bool is_made;
    uint32_t *options; /* that are allowed */
    uint32_t option_count;
    uint64_t state; /* of pseudo-random numbers */
} local;

/* ---- moves ---- */

static void apply(const local *l, const move *m, ms_assignment *to)
{
    const uint32_t count = l->s->costs.layer_count;
    memcpy(to->options, l->now.options, count * sizeof *to->options);
    to->loss = m->loss;
    if (m->kind == RECOLOUR) {
        for (uint32_t i = 0; i < count; i++)
            if (l->now.options[i] == m->options[0])
                to->options[i] = m->options[1];
        return;
    }
    if (m->kind == RANGE) {
        for (uint32_t i = m->layers[0]; i <= m->layers[1]; i += m->options[1])
            to->options[i] = m->options[0];
        return;
    }
    for (int i = 0; i < 2; i++)
        if (m->layers[i] != MS_NONE)
            to->options[m->layers[i]] = m->options[i];
}

/* A gain of less is noise. */
static const double least_gain = 1e-4;

static void offer(local *l, move m)
{
    const ms_search *s = l->s;
    apply(l, &m, &l->changed);
    const ms_cost_limits limits = {s->capacity_bytes, UINT64_MAX, UINT64_MAX,
                                   l->takes_slower ? INFINITY : l->sum.step_ms * (1 - least_gain)};
    ms_cost_sum sum = ms_assignment_sum_within(&s->costs, &l->changed, &limits);
    if (isinf(sum.step_ms))
        return;
    double gain = 1 - sum.step_ms / l->sum.step_ms;
    if ((gain < least_gain && !l->takes_slower) || sum.peak_bytes > s->capacity_bytes ||
        l->move_count == MOST_MOVES)
        return;
    bool is_same = sum.level_bytes == l->sum.level_bytes && sum.loss_bytes == l->sum.loss_bytes;
    if (l->takes_slower && is_same && fabs(gain) < least_gain)
        return;
    double more = fmax((double)sum.level_bytes - (double)l->sum.level_bytes,
                       0.3 * ((double)sum.loss_bytes - (double)l->sum.loss_bytes));
    m.gain = gain;
    m.more = fmax(more, 0) / (double)s->capacity_bytes;
    l->moves[l->move_count++] = m;
}

static bool is_allowed_loss(const local *l, uint32_t loss)
{
    const ms_choose_task task = ms_search_task(l->s, l->s->capacity_bytes);
    return ms_loss_allowed(&task, loss);
}

static void offer_replaced(local *l, uint32_t loss)
{
    for (uint32_t i = 0; i < l->s->costs.layer_count; i++)
        for (uint32_t o = 0; o < l->option_count; o++)
            if (l->options[o] != l->now.options[i])
                offer(l, (move){LAYERS, {i, MS_NONE}, {l->options[o], 0}, loss, 0, 0, 0});
}

/* Halves, quarters and so on of the layers, all of them or every second. */
static void offer_ranges(local *l)
{
    const uint32_t count = l->s->costs.layer_count;
    for (uint32_t size = count / 2; size >= 2; size /= 2)
        for (uint32_t first = 0; first < count; first += size)
            for (uint32_t o = 0; o < l->option_count; o++)
                for (uint32_t every = 1; every <= 2; every++) {
                    uint32_t last = first + size < count ? first + size - 1 : count - 1;
                    offer(
                        l,
                        (move){RANGE, {first, last}, {l->options[o], every}, l->now.loss, 0, 0, 0});
                }
}

static bool is_used(const local *l, uint32_t option)
{
    for (uint32_t i = 0; i < l->s->costs.layer_count; i++)
        if (l->now.options[i] == option)
            return true;
    return false;
}

static void offer_recoloured(local *l, uint32_t loss)
{
    for (uint32_t x = 0; x < l->option_count; x++)
        for (uint32_t y = 0; y < l->option_count && is_used(l, l->options[x]); y++)
            if (x != y)
                offer(l, (move){RECOLOUR, {0, 0}, {l->options[x], l->options[y]}, loss, 0, 0, 0});
}

/* The loss made otherwise, and one layer or those of one option treated otherwise besides. */
static void offer_losses(local *l)
{
    for (uint32_t loss = 0; loss < ms_search_loss_count(l->s); loss++) {
        if (!is_allowed_loss(l, loss))
            continue;
        if (loss != l->now.loss)
            offer(l, (move){LAYERS, {MS_NONE, MS_NONE}, {0, 0}, loss, 0, 0, 0});
        offer_recoloured(l, loss);
        offer_replaced(l, loss);
    }
}

static uint32_t random_below(local *l, uint32_t count)
{
    l->state = l->state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((l->state >> 33) % count);
}

/* Pairs of layers, which swap or get any options. */
static void offer_pairs(local *l, uint32_t tries)
{
    for (uint32_t t = 0; t < tries; t++) {
        uint32_t a = random_below(l, l->s->costs.layer_count),
                 b = random_below(l, l->s->costs.layer_count);
        move m = {LAYERS, {a, b}, {l->now.options[b], l->now.options[a]}, l->now.loss, 0, 0, 0};
        if (t % 4 > 0) {
            m.options[0] = l->options[random_below(l, l->option_count)];
            m.options[1] = l->options[random_below(l, l->option_count)];
        }
        if (a != b)
            offer(l, m);
    }
}

static int by_score(const void *a, const void *b)
{
    const move *x = a, *y = b;
    return (x->score < y->score) - (x->score > y->score);
}

/* ---- running them ---- */

static ms_status run_move(local *l, const move *m, bool *yes)
{
    ms_search *s = l->s;
    ms_assignment changed;
    ms_status status = ms_assignment_copy(s->arena, &s->costs, &l->now, &changed, s->err);
    if (status != MS_OK)
        return status;
    apply(l, m, &changed);
    status = ms_search_consider(s, &changed, yes);
    if (status != MS_OK || !*yes)
        return status;
    s->is_best_proven = false;
    l->is_made = false;
    l->sum = ms_assignment_sum(&s->costs, &changed);
    return ms_assignment_copy(s->arena, &s->costs, &changed, &l->now, s->err);
}

/* All moves of what is the best now, the most promising first. */
static void make_moves(local *l)
{
    if (!l->is_made) {
        l->move_count = 0;
        offer_losses(l);
        offer_ranges(l);
        offer_pairs(l, PAIRS);
    }
    l->is_made = true;
    for (uint32_t i = 0; i < l->move_count; i++)
        l->moves[i].score = l->moves[i].gain - l->price_of_level * l->moves[i].more;
    qsort(l->moves, l->move_count, sizeof *l->moves, by_score);
}

/* Runs the most promising moves until one fits. */
static ms_status run_round(local *l, uint32_t most, uint32_t most_now, uint32_t *runs, bool *yes)
{
    const uint32_t before = *runs;
    ms_status status = MS_OK;
    *yes = false;
    make_moves(l);
    for (uint32_t i = 0; i < l->move_count && *runs < most && *runs < before + most_now; i++) {
        if (status != MS_OK || *yes || ms_stop_asked(l->s->task->stop))
            break;
        if (l->takes_slower && i > 0 && fabs(l->moves[i].score - l->moves[i - 1].score) < 1e-9)
            continue; /* most likely the same in another layer */
        apply(l, &l->moves[i], &l->changed);
        if (ms_search_knows(l->s, &l->changed))
            continue;
        ++*runs;
        status = run_move(l, &l->moves[i], yes);
    }
    return status;
}

/* ---- other orders ---- */

/* What the allocator wastes depends on the order of the layers as well: the best, improved within
 * limits between its level and the capacity, in several orders. */
enum { LIMITS = 6, ORDERS = 2, LAYER_SUMS = 150000 };

static ms_status try_order(local *l, ms_choose_task *task, uint64_t seed, bool *yes)
{
    ms_search *s = l->s;
    ms_cost_problem p;
    ms_assignment changed;
    ms_status status = ms_cost_problem_begin(s->arena, task, &p, s->err);
    if (status == MS_OK)
        status = ms_assignment_copy(s->arena, &s->costs, &s->best, &changed, s->err);
    if (status == MS_OK)
        status = ms_assignment_improve(s->arena, &p, LAYER_SUMS / s->costs.layer_count, seed,
                                       &changed, s->err);
    *yes = false;
    if (status != MS_OK ||
        !(ms_assignment_sum(&s->costs, &changed).step_ms < s->best_ms * (1 - least_gain)))
        return status;
    status = ms_search_consider(s, &changed, yes);
    if (*yes)
        s->is_best_proven = false;
    return status;
}

static ms_status try_orders(local *l)
{
    ms_search *s = l->s;
    ms_status status = MS_OK;
    const uint64_t level = ms_assignment_sum(&s->costs, &s->best).level_bytes;
    for (uint32_t i = 0; i < LIMITS * ORDERS && status == MS_OK; i++) {
        bool yes;
        uint64_t room = level < s->capacity_bytes ? s->capacity_bytes - level : 0;
        ms_choose_task task = ms_search_task(s, level + room * (i / ORDERS) / LIMITS);
        if (!ms_stop_asked(s->task->stop))
            status = try_order(l, &task, i + 2, &yes);
    }
    return status;
}

static uint32_t runs_for(const ms_search *s, double bound_ms)
{
    double gap = bound_ms > 0 ? 1 - bound_ms / s->best_ms : 0;
    uint32_t runs = gap < 0.001 ? 0 : gap < 0.005 ? 16 : gap < 0.02 ? 60 : 200;
    return s->is_one_of_many ? runs / 8 : runs;
}

static ms_status begin_local(ms_search *s, local *l)
{
    *l = (local){.s = s, .price_of_level = 2, .state = 1};
    l->moves = ms_arena_array(s->arena, move, MOST_MOVES);
    l->options = ms_arena_array(s->arena, uint32_t, s->costs.option_count);
    if (!l->moves || !l->options)
        return ms_fail(s->err, MS_ERR_NOMEM, "out of memory for the search");
    for (uint32_t o = 0; o < s->costs.option_count; o++)
        if (ms_treatment_allowed(&s->costs.options[o].treatment, s->techniques))
            l->options[l->option_count++] = o;
    ms_status status = ms_assignment_copy(s->arena, &s->costs, &s->best, &l->now, s->err);
    if (status == MS_OK)
        status = ms_assignment_copy(s->arena, &s->costs, &s->best, &l->changed, s->err);
    l->sum = ms_assignment_sum(&s->costs, &s->best);
    return status;
}

/* The option of which a layer from the middle saves least. */
static uint32_t least_option(const local *l)
{
    const uint32_t middle = l->s->costs.layer_count / 2;
    uint32_t least = l->options[0];
    for (uint32_t o = 0; o < l->option_count; o++) {
        const ms_cost_option *options = l->s->costs.options;
        if (ms_layer_saved(&options[l->options[o]].layers[middle], 0) <
            ms_layer_saved(&options[least].layers[middle], 0))
            least = l->options[o];
    }
    return least;
}

/* Goes on from the best with a quarter of the layers, at random, saving least. */
static ms_status kick(local *l)
{
    ms_search *s = l->s;
    const uint32_t count = s->costs.layer_count, size = count / 4 + 1, option = least_option(l);
    ms_status status = ms_assignment_copy(s->arena, &s->costs, &s->best, &l->now, s->err);
    if (status != MS_OK)
        return status;
    uint32_t first = random_below(l, count);
    for (uint32_t i = first; i < count && i < first + size; i++)
        l->now.options[i] = option;
    l->is_made = false;
    l->sum = ms_assignment_sum(&s->costs, &l->now);
    return MS_OK;
}

/* In turn, while nothing is found. */
static const double prices[] = {1, 8, 0.3};

/* Rounds until PATIENCE of them in turn find nothing. */
static ms_status climb(local *l, uint32_t most, uint32_t *runs)
{
    ms_status status = MS_OK;
    uint32_t fruitless = 0;
    while (status == MS_OK && *runs < most && fruitless < PATIENCE &&
           !ms_stop_asked(l->s->task->stop)) {
        bool yes;
        uint32_t before = *runs;
        l->price_of_level = prices[fruitless % (sizeof prices / sizeof prices[0])];
        status = run_round(l, most, RUNS_A_ROUND, runs, &yes);
        fruitless = yes ? 0 : fruitless + 1;
        if (*runs == before)
            break;
    }
    return status;
}

ms_status ms_search_local(ms_search *s, double bound_ms)
{
    uint32_t most = s->has_best ? runs_for(s, bound_ms) : 0, runs = 0;
    local l;
    if (most == 0)
        return MS_OK;
    ms_status status = begin_local(s, &l);
    for (uint32_t i = 0; i < CLIMBS && status == MS_OK && runs < most; i++) {
        if (i > 0)
            status = kick(&l);
        if (status == MS_OK)
            status = climb(&l, most, &runs);
    }
    return status == MS_OK && s->costs.has_exact_waits ? try_orders(&l) : status;
}

/* Runs of the moves around what needs the smallest budget. */
enum { RESCUE_RUNS = 24 };

ms_status ms_search_rescue(ms_search *s)
{
    local l;
    uint32_t runs = 0;
    bool yes = false;
    if (!s->best.options || s->has_best)
        return MS_OK;
    ms_status status = begin_local(s, &l);
    l.takes_slower = true;
    if (status == MS_OK)
        status = run_round(&l, RESCUE_RUNS, RESCUE_RUNS / 2, &runs, &yes);
    l.price_of_level = 0; /* and what is faster than the others */
    if (status == MS_OK && !yes)
        status = run_round(&l, RESCUE_RUNS, RESCUE_RUNS / 2, &runs, &yes);
    return status;
}
