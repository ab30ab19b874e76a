/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "decide/plan/search/moves.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_MOVES = 16384, PAIRS = 2048 };

/* After so many changes all moves are made anew; between, the most promising are counted anew. */
enum { MOST_AGE = 6, RENEWED = 192 };

/* ---- making one ---- */

void ms_moves_apply(const ms_moves *l, const ms_move *m, ms_assignment *to)
{
    const uint32_t count = l->s->costs.layer_count;
    memcpy(to->options, l->now.options, count * sizeof *to->options);
    to->loss = m->loss;
    if (m->kind == MS_MOVE_RECOLOUR) {
        for (uint32_t i = 0; i < count; i++)
            if (l->now.options[i] == m->options[0])
                to->options[i] = m->options[1];
        return;
    }
    if (m->kind == MS_MOVE_RANGE) {
        for (uint32_t i = m->layers[0]; i <= m->layers[1]; i += m->options[1])
            to->options[i] = m->options[0];
        return;
    }
    for (int i = 0; i < 2; i++)
        if (m->layers[i] != MS_NONE)
            to->options[m->layers[i]] = m->options[i];
}

static double work_of(const ms_moves *l, const uint32_t *options, uint32_t layer)
{
    return l->work_ms[(size_t)options[layer] * l->s->costs.layer_count + layer];
}

static double works_of(const ms_moves *l, const ms_assignment *assignment)
{
    double ms = l->s->costs.losses[assignment->loss].ms;
    for (uint32_t i = 0; i < l->s->costs.layer_count; i++)
        ms += work_of(l, assignment->options, i);
    return ms;
}

/* At least so long it takes. */
static double least_ms(const ms_moves *l, const ms_move *m)
{
    const double slack = 1 - 1e-9; /* sums in another order */
    if (m->kind != MS_MOVE_LAYERS)
        return works_of(l, &l->changed) * slack;
    const ms_outer_cost *losses = l->s->costs.losses;
    double ms = l->works_ms + losses[m->loss].ms - losses[l->now.loss].ms;
    for (int i = 0; i < 2; i++)
        if (m->layers[i] != MS_NONE)
            ms += work_of(l, l->changed.options, m->layers[i]) -
                  work_of(l, l->now.options, m->layers[i]);
    return ms * slack;
}

/* Counts its gain and what more it needs; false: it is not faster, or exceeds the limit. */
static bool evaluate(ms_moves *l, ms_move *m)
{
    const ms_search *s = l->s;
    const double most_ms = l->takes_slower ? INFINITY : l->sum.step_ms * (1 - ms_moves_least_gain);
    ms_moves_apply(l, m, &l->changed);
    if (least_ms(l, m) > most_ms)
        return false;
    const ms_cost_limits limits = {s->capacity_bytes, UINT64_MAX, UINT64_MAX, most_ms};
    ms_cost_sum sum = ms_assignment_sum_within(&s->costs, &l->changed, &limits);
    if (isinf(sum.step_ms))
        return false;
    double gain = 1 - sum.step_ms / l->sum.step_ms;
    if ((gain < ms_moves_least_gain && !l->takes_slower) || sum.peak_bytes > s->capacity_bytes)
        return false;
    bool is_same = sum.level_bytes == l->sum.level_bytes && sum.loss_bytes == l->sum.loss_bytes;
    if (l->takes_slower && is_same && fabs(gain) < ms_moves_least_gain)
        return false;
    double more = fmax((double)sum.level_bytes - (double)l->sum.level_bytes,
                       0.3 * ((double)sum.loss_bytes - (double)l->sum.loss_bytes));
    m->gain = gain;
    m->more = fmax(more, 0) / (double)s->capacity_bytes;
    return true;
}

static void offer(ms_moves *l, ms_move m)
{
    if (l->move_count < MOST_MOVES && evaluate(l, &m))
        l->moves[l->move_count++] = m;
}

bool ms_moves_allow_loss(const ms_moves *l, uint32_t loss)
{
    const ms_choose_task task = ms_search_task(l->s, l->s->capacity_bytes);
    return ms_loss_allowed(&task, loss);
}

static void offer_replaced(ms_moves *l, uint32_t loss)
{
    for (uint32_t i = 0; i < l->s->costs.layer_count; i++)
        for (uint32_t o = 0; o < l->option_count; o++)
            if (l->options[o] != l->now.options[i])
                offer(l,
                      (ms_move){MS_MOVE_LAYERS, {i, MS_NONE}, {l->options[o], 0}, loss, 0, 0, 0});
}

/* Halves, quarters and so on of the layers, all of them or every second. */
static void offer_ranges(ms_moves *l)
{
    const uint32_t count = l->s->costs.layer_count;
    for (uint32_t size = count / 2; size >= 2; size /= 2)
        for (uint32_t first = 0; first < count; first += size)
            for (uint32_t o = 0; o < l->option_count; o++)
                for (uint32_t every = 1; every <= 2; every++) {
                    uint32_t last = first + size < count ? first + size - 1 : count - 1;
                    offer(l, (ms_move){MS_MOVE_RANGE,
                                       {first, last},
                                       {l->options[o], every},
                                       l->now.loss,
                                       0,
                                       0,
                                       0});
                }
}

static bool is_used(const ms_moves *l, uint32_t option)
{
    for (uint32_t i = 0; i < l->s->costs.layer_count; i++)
        if (l->now.options[i] == option)
            return true;
    return false;
}

static void offer_recoloured(ms_moves *l, uint32_t loss)
{
    for (uint32_t x = 0; x < l->option_count; x++)
        for (uint32_t y = 0; y < l->option_count && is_used(l, l->options[x]); y++)
            if (x != y)
                offer(l,
                      (ms_move){
                          MS_MOVE_RECOLOUR, {0, 0}, {l->options[x], l->options[y]}, loss, 0, 0, 0});
}

/* The loss made otherwise; in about as many chunks, one layer or those of one option treated
 * otherwise besides. */
static void offer_losses(ms_moves *l)
{
    for (uint32_t loss = 0; loss < ms_search_loss_count(l->s); loss++) {
        if (!ms_moves_allow_loss(l, loss))
            continue;
        if (loss != l->now.loss)
            offer(l, (ms_move){MS_MOVE_LAYERS, {MS_NONE, MS_NONE}, {0, 0}, loss, 0, 0, 0});
        if (!l->is_far && (loss + 1 < l->now.loss || loss > l->now.loss + 1))
            continue;
        offer_recoloured(l, loss);
        offer_replaced(l, loss);
    }
}

uint32_t ms_moves_random(ms_moves *l, uint32_t count)
{
    l->state = l->state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((l->state >> 33) % count);
}

/* Pairs of layers, which swap or get any options. */
static void offer_pairs(ms_moves *l, uint32_t tries)
{
    for (uint32_t t = 0; t < tries; t++) {
        uint32_t a = ms_moves_random(l, l->s->costs.layer_count),
                 b = ms_moves_random(l, l->s->costs.layer_count);
        ms_move m = {
            MS_MOVE_LAYERS, {a, b}, {l->now.options[b], l->now.options[a]}, l->now.loss, 0, 0, 0};
        if (t % 4 > 0) {
            m.options[0] = l->options[ms_moves_random(l, l->option_count)];
            m.options[1] = l->options[ms_moves_random(l, l->option_count)];
        }
        if (a != b)
            offer(l, m);
    }
}

static int by_score(const void *a, const void *b)
{
    const ms_move *x = a, *y = b;
    return (x->score < y->score) - (x->score > y->score);
}

static void sort_moves(ms_moves *l)
{
    for (uint32_t i = 0; i < l->move_count; i++)
        l->moves[i].score = l->moves[i].gain - l->price_of_level * l->moves[i].more;
    qsort(l->moves, l->move_count, sizeof *l->moves, by_score);
}

/* Drops those of the first moves that are of no use any more. */
static void renew_moves(ms_moves *l)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < l->move_count; i++)
        if (i >= RENEWED || evaluate(l, &l->moves[i]))
            l->moves[kept++] = l->moves[i];
    l->move_count = kept;
}

/* Moves of what is the best now, the most promising first. */
void ms_moves_make(ms_moves *l)
{
    l->works_ms = works_of(l, &l->now);
    if (l->age == MS_MOVES_NOT_MADE) {
        l->move_count = l->age = 0;
        offer_losses(l);
        offer_ranges(l);
        offer_pairs(l, PAIRS);
    } else if (l->age > 0) {
        sort_moves(l);
        renew_moves(l);
    }
    sort_moves(l);
}

/* ---- where they start ---- */

static void set_works(ms_moves *l)
{
    const ms_cost_model *costs = &l->s->costs;
    for (uint32_t o = 0; o < costs->option_count; o++)
        for (uint32_t i = 0; i < costs->layer_count; i++) {
            const ms_layer_cost *cost = &costs->options[o].layers[i];
            l->work_ms[(size_t)o * costs->layer_count + i] =
                costs->has_exact_waits ? cost->ms - cost->exposed_ms : cost->ms;
        }
}

ms_status ms_moves_begin(ms_search *s, ms_moves *l)
{
    *l = (ms_moves){.s = s, .price_of_level = 2, .state = 1, .age = MS_MOVES_NOT_MADE};
    l->moves = ms_arena_array(s->arena, ms_move, MOST_MOVES);
    l->options = ms_arena_array(s->arena, uint32_t, s->costs.option_count);
    l->work_ms =
        ms_arena_array(s->arena, double, (size_t)s->costs.option_count * s->costs.layer_count);
    if (!l->moves || !l->options || !l->work_ms)
        return ms_fail(s->err, MS_ERR_NOMEM, "out of memory for the search");
    set_works(l);
    for (uint32_t o = 0; o < s->costs.option_count; o++)
        if (ms_treatment_allowed(&s->costs.options[o].treatment, s->techniques))
            l->options[l->option_count++] = o;
    ms_status status = ms_assignment_copy(s->arena, &s->costs, &s->best, &l->now, s->err);
    if (status == MS_OK)
        status = ms_assignment_copy(s->arena, &s->costs, &s->best, &l->changed, s->err);
    l->sum = ms_assignment_sum(&s->costs, &s->best);
    return status;
}

void ms_moves_go_to(ms_moves *l, const ms_assignment *to)
{
    l->now = *to;
    l->sum = ms_assignment_sum(&l->s->costs, to);
    l->age = MS_MOVES_NOT_MADE;
}

void ms_moves_follow(ms_moves *l, const ms_assignment *to)
{
    const bool is_old =
        to->loss != l->now.loss || l->age == MS_MOVES_NOT_MADE || l->age >= MOST_AGE;
    const uint32_t age = is_old ? MS_MOVES_NOT_MADE : l->age + 1;
    ms_moves_go_to(l, to);
    l->age = age;
}
