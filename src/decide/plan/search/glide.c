/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "decide/plan/search/glide.h"

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

ms_status ms_moves_glide(ms_moves *l, uint32_t *runs, bool *yes)
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
