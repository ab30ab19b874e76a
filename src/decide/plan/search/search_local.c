/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "decide/plan/search/search_local.h"

#include <math.h>

#include "decide/plan/choose/improve.h"
#include "decide/plan/search/glide.h"
#include "decide/plan/search/moves.h"
#include "decide/plan/search/starts.h"

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
    ms_status status = ms_moves_list_starts(l, &starts, &count);
    for (uint32_t i = 0; i < count && i < UNIFORM_STARTS && status == MS_OK && *runs < most; i++) {
        bool yes;
        ms_assignment from;
        status = ms_moves_start(l, &starts[i], &from);
        if (status != MS_OK || ms_search_knows(l->s, &from))
            continue;
        ++*runs;
        status = ms_search_consider(l->s, &from, &yes);
        if (status != MS_OK || !yes)
            continue;
        ms_moves_go_to(l, &from);
        status = ms_moves_glide(l, runs, &yes);
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
            status = ms_moves_kick(&l);
        if (i > 0 && status == MS_OK)
            status = ms_moves_glide(&l, &runs, &yes);
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
