/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "decide/plan/search/search_local.h"

#include <math.h>
#include <stdlib.h>

#include "decide/plan/choose/improve.h"
#include "decide/plan/search/moves.h"

/* ---- glide ---- */

/* From an assignment that is far slower than the best, the local search goes on by the cost model
 * alone, and simulates when it is near the best: that spares most simulations. */

/* From far above the best nothing is simulated until it is near: the assignments on the way. */
enum { MOST_PATH = 128, MOVES_AT_ONCE = 4 };

typedef struct path {
    ms_assignment at[MOST_PATH];
    uint32_t count;
} path;

static const double near_best = 1.004;

static bool is_near_best(const ms_moves *l)
{
    return l->sum.step_ms <= l->s->best_ms * near_best;
}

static ms_status step_to(ms_moves *l, const ms_assignment *next, path *way)
{
    ms_search *s = l->s;
    ms_status status = ms_assignment_copy(s->arena, &s->costs, next, &way->at[way->count], s->err);
    if (status != MS_OK)
        return status;
    ms_moves_follow(l, &way->at[way->count++]);
    return MS_OK;
}

/* Whether a move of some layers can be made beside others that were. */
static bool is_apart(const ms_moves *l, const ms_move *m, const uint8_t *is_touched)
{
    bool is_single = m->kind == MS_MOVE_LAYERS && m->layers[0] != MS_NONE && m->loss == l->now.loss;
    return is_single && !is_touched[m->layers[0]] &&
           (m->layers[1] == MS_NONE || !is_touched[m->layers[1]]);
}

/* Whether the move that made `changed` gains about as much as it did before others. */
static bool is_as_good(const ms_moves *l, const ms_move *m)
{
    return ms_assignment_sum(&l->s->costs, &l->changed).step_ms <
           l->sum.step_ms * (1 - 0.8 * m->gain);
}

static void touch(const ms_move *m, uint8_t *is_touched)
{
    for (int k = 0; k < 2; k++)
        if (m->layers[k] != MS_NONE)
            is_touched[m->layers[k]] = 1;
}

/* The best of the moves, and such as are about as good and concern other layers. */
static ms_status glide_round(ms_moves *l, path *way)
{
    ms_status status = MS_OK;
    uint32_t made = 0;
    uint8_t *is_touched = ms_arena_array(l->s->arena, uint8_t, l->s->costs.layer_count);
    if (!is_touched)
        return ms_fail(l->s->err, MS_ERR_NOMEM, "out of memory for the search");
    ms_moves_make(l);
    const uint32_t count = l->move_count;
    for (uint32_t i = 0; i < count && made < MOVES_AT_ONCE && way->count < MOST_PATH; i++) {
        const ms_move *m = &l->moves[i];
        if (i > 0 && m->score < 0.9 * l->moves[0].score)
            break;
        if (i > 0 && !is_apart(l, m, is_touched))
            continue;
        ms_moves_apply(l, m, &l->changed);
        if (i > 0 && !is_as_good(l, m))
            continue;
        status = step_to(l, &l->changed, way);
        if (status != MS_OK || is_near_best(l) || m->kind != MS_MOVE_LAYERS)
            break;
        touch(m, is_touched);
        made++;
    }
    return status;
}

/* The last on the way that fits. */
static ms_status land(ms_moves *l, const path *way, uint32_t *runs, bool *yes)
{
    uint32_t fits = 0, fails = way->count;
    ms_status status = MS_OK;
    while (status == MS_OK && fits < fails) {
        uint32_t at = fails == way->count ? fails - 1 : fits + (fails - fits) / 2;
        *runs += !ms_search_knows(l->s, &way->at[at]);
        status = ms_search_consider(l->s, &way->at[at], yes);
        if (*yes)
            fits = at + 1;
        else
            fails = at;
    }
    *yes = fits > 0;
    if (status != MS_OK || !*yes)
        return status;
    ms_moves_go_to(l, &way->at[fits - 1]);
    return MS_OK;
}

/* Goes from where the moves are to an assignment about as fast as the search's best, or on that
 * way to the last that was found to fit. *yes: there is one. *runs grows by the simulations. */
static ms_status moves_glide(ms_moves *l, uint32_t *runs, bool *yes)
{
    path *way = ms_arena_array(l->s->arena, path, 1);
    if (!way)
        return ms_fail(l->s->err, MS_ERR_NOMEM, "out of memory for the search");
    const ms_assignment from = l->now;
    ms_status status = step_to(l, &from, way);
    l->price_of_level = 1;
    while (status == MS_OK && !is_near_best(l) && way->count < MOST_PATH) {
        uint32_t before = way->count;
        status = glide_round(l, way);
        if (way->count == before)
            break;
    }
    if (status == MS_OK)
        status = land(l, way, runs, yes);
    return status;
}

/* ---- starts ---- */

/* Where else the local search starts: the best with a part of it treated anew, all layers alike. */

/* All layers with one option. */
typedef struct ms_start {
    uint32_t option, loss;
    double score;
} ms_start;

/* The option of which a layer from the middle saves least. */
static uint32_t least_option(const ms_moves *l)
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

/* Goes to the best with a quarter of the layers, at random, saving least. */
static ms_status moves_kick(ms_moves *l)
{
    ms_search *s = l->s;
    const uint32_t count = s->costs.layer_count, size = count / 4 + 1, option = least_option(l);
    ms_assignment to;
    ms_status status = ms_assignment_copy(s->arena, &s->costs, &s->best, &to, s->err);
    if (status != MS_OK)
        return status;
    uint32_t first = ms_moves_random(l, count);
    for (uint32_t i = first; i < count && i < first + size; i++)
        to.options[i] = option;
    ms_moves_go_to(l, &to);
    return MS_OK;
}

static int by_start_score(const void *a, const void *b)
{
    const ms_start *x = a, *y = b;
    return (x->score > y->score) - (x->score < y->score);
}

static void set_uniform(const ms_moves *l, const ms_start *from, ms_assignment *to)
{
    to->loss = from->loss;
    ms_assignment_fill(&l->s->costs, from->option, to);
}

/* Lists, in the arena, those that the cost model says fit and are not far slower than the best;
 * fast ones that need little first. */
static ms_status moves_list_starts(ms_moves *l, ms_start **starts, uint32_t *count)
{
    const ms_search *s = l->s;
    const uint32_t losses = ms_search_loss_count(s);
    *count = 0;
    *starts = ms_arena_array(s->arena, ms_start, (size_t)l->option_count * losses);
    if (!*starts)
        return ms_fail(s->err, MS_ERR_NOMEM, "out of memory for the search");
    for (uint32_t o = 0; o < l->option_count; o++)
        for (uint32_t loss = 0; loss < losses; loss++) {
            ms_start at = {l->options[o], loss, 0};
            if (!ms_moves_allow_loss(l, loss))
                continue;
            set_uniform(l, &at, &l->changed);
            ms_cost_sum sum = ms_assignment_sum(&s->costs, &l->changed);
            if (sum.peak_bytes > s->capacity_bytes || sum.step_ms > 1.2 * s->best_ms)
                continue;
            at.score =
                sum.step_ms / s->best_ms + 8 * (double)sum.peak_bytes / (double)s->capacity_bytes;
            (*starts)[(*count)++] = at;
        }
    qsort(*starts, *count, sizeof **starts, by_start_score);
    return MS_OK;
}

/* *made: that assignment, in the arena. */
static ms_status moves_start(const ms_moves *l, const ms_start *from, ms_assignment *made)
{
    ms_search *s = l->s;
    ms_status status = ms_assignment_copy(s->arena, &s->costs, &l->now, made, s->err);
    if (status == MS_OK)
        set_uniform(l, from, made);
    return status;
}

/* ---- search local ---- */

/* So many moves are run before the others are made anew. A climb ends when so many rounds find
 * nothing: the first, and those from elsewhere. */
enum { RUNS_A_ROUND = 4, PATIENCE = 6, LESS_PATIENCE = 3, CLIMBS = 8, UNIFORM_STARTS = 12 };

/* ---- climbing ---- */

static ms_status run_move(ms_moves *l, const ms_move *m, bool *yes)
{
    ms_search *s = l->s;
    ms_assignment changed;
    ms_status status = ms_assignment_copy(s->arena, &s->costs, &l->now, &changed, s->err);
    if (status != MS_OK)
        return status;
    ms_moves_apply(l, m, &changed);
    status = ms_search_consider(s, &changed, yes);
    if (status != MS_OK || !*yes)
        return status;
    ms_moves_follow(l, &changed);
    return MS_OK;
}

/* Runs the most promising moves until one fits. */
static ms_status run_round(ms_moves *l, uint32_t most, uint32_t most_now, uint32_t *runs, bool *yes)
{
    const uint32_t before = *runs;
    ms_status status = MS_OK;
    *yes = false;
    ms_moves_make(l);
    for (uint32_t i = 0; i < l->move_count && *runs < most && *runs < before + most_now; i++) {
        if (status != MS_OK || *yes || ms_deadline_reached(&l->s->limit))
            break;
        if (l->takes_slower && i > 0 && fabs(l->moves[i].score - l->moves[i - 1].score) < 1e-9)
            continue; /* most likely the same in another layer */
        ms_moves_apply(l, &l->moves[i], &l->changed);
        if (ms_search_knows(l->s, &l->changed))
            continue;
        ++*runs;
        status = run_move(l, &l->moves[i], yes);
    }
    return status;
}

/* In turn, while nothing is found. */
static const double prices[] = {1, 8, 0.3};

/* Rounds until so many of them in turn find nothing. */
static ms_status climb(ms_moves *l, uint32_t most, uint32_t patience, uint32_t *runs)
{
    ms_status status = MS_OK;
    uint32_t fruitless = 0;
    while (status == MS_OK && *runs < most && fruitless < patience &&
           !ms_deadline_reached(&l->s->limit)) {
        bool yes;
        uint32_t before = *runs;
        l->price_of_level = prices[fruitless % (sizeof prices / sizeof prices[0])];
        const bool is_new = l->age == MS_MOVES_NOT_MADE || l->age == 0;
        status = run_round(l, most, RUNS_A_ROUND, runs, &yes);
        if (!yes && !is_new) {
            l->age = MS_MOVES_NOT_MADE;
            continue;
        }
        fruitless = yes ? 0 : fruitless + 1;
        if (*runs == before)
            break;
    }
    return status;
}

/* ---- other starts ---- */

/* Climbs from all layers alike. */
static ms_status climb_from_uniform(ms_moves *l, uint32_t most, uint32_t *runs)
{
    ms_start *starts;
    uint32_t count;
    ms_status status = moves_list_starts(l, &starts, &count);
    for (uint32_t i = 0; i < count && i < UNIFORM_STARTS && status == MS_OK && *runs < most; i++) {
        bool yes;
        ms_assignment from;
        status = moves_start(l, &starts[i], &from);
        if (status != MS_OK || ms_search_knows(l->s, &from))
            continue;
        ++*runs;
        status = ms_search_consider(l->s, &from, &yes);
        if (status != MS_OK || !yes)
            continue;
        ms_moves_go_to(l, &from);
        status = moves_glide(l, runs, &yes);
        if (status == MS_OK && yes)
            status = climb(l, most, LESS_PATIENCE, runs);
    }
    return status;
}

/* ---- other orders ---- */

/* What the allocator wastes depends on the order of the layers as well: the best, improved within
 * limits between its level and the capacity, in several orders. */
enum { LIMITS = 6, ORDERS = 2, LAYER_SUMS = 150000 };

static ms_status try_order(ms_moves *l, ms_choose_task *task, uint64_t seed, bool *yes)
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
        !(ms_assignment_sum(&s->costs, &changed).step_ms < s->best_ms * (1 - ms_moves_least_gain)))
        return status;
    return ms_search_consider(s, &changed, yes);
}

static ms_status try_orders(ms_moves *l)
{
    ms_search *s = l->s;
    ms_status status = MS_OK;
    const uint64_t level = ms_assignment_sum(&s->costs, &s->best).level_bytes;
    for (uint32_t i = 0; i < LIMITS * ORDERS && status == MS_OK; i++) {
        bool yes;
        uint64_t room = level < s->capacity_bytes ? s->capacity_bytes - level : 0;
        ms_choose_task task = ms_search_task(s, level + room * (i / ORDERS) / LIMITS);
        if (!ms_deadline_reached(&s->limit))
            status = try_order(l, &task, i + 2, &yes);
    }
    return status;
}

/* ---- the search ---- */

static uint32_t runs_for(const ms_search *s, double bound_ms)
{
    double gap = bound_ms > 0 ? 1 - bound_ms / s->best_ms : 0;
    uint32_t runs = gap < 0.001 ? 0 : gap < 0.005 ? 16 : gap < 0.02 ? 50 : 100;
    return s->is_one_of_many ? runs / 8 : runs;
}

static const double far_from_bound = 0.04;

ms_status ms_search_local(ms_search *s, double bound_ms)
{
    uint32_t most = s->has_best ? runs_for(s, bound_ms) : 0, runs = 0;
    ms_moves l;
    if (most == 0)
        return MS_OK;
    ms_status status = ms_moves_begin(s, &l);
    l.is_far = bound_ms < s->best_ms * (1 - far_from_bound);
    for (uint32_t i = 0; i < CLIMBS && status == MS_OK && runs < most; i++) {
        bool yes = true;
        if (i == 1 && l.is_far)
            status = climb_from_uniform(&l, most, &runs);
        if (i > 0 && status == MS_OK)
            status = moves_kick(&l);
        if (i > 0 && status == MS_OK)
            status = moves_glide(&l, &runs, &yes);
        if (status == MS_OK && yes)
            status = climb(&l, most, i > 0 ? LESS_PATIENCE : PATIENCE, &runs);
    }
    return status == MS_OK && s->costs.has_exact_waits ? try_orders(&l) : status;
}

/* Runs of the moves around what needs the smallest budget. */
enum { RESCUE_RUNS = 24 };

ms_status ms_search_rescue(ms_search *s)
{
    ms_moves l;
    uint32_t runs = 0;
    bool yes = false;
    if (!s->best.options || s->has_best)
        return MS_OK;
    ms_status status = ms_moves_begin(s, &l);
    l.takes_slower = true;
    if (status == MS_OK)
        status = run_round(&l, RESCUE_RUNS, RESCUE_RUNS / 2, &runs, &yes);
    l.price_of_level = 0; /* and what is faster than the others */
    if (status == MS_OK && !yes)
        status = run_round(&l, RESCUE_RUNS, RESCUE_RUNS / 2, &runs, &yes);
    return status;
}
