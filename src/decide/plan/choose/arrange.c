/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "decide/plan/choose/arrange.h"

#include <math.h>
#include <string.h>

#include "decide/plan/choose/cost_queues.h"

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

typedef struct search {
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
} search;

/* A pass that is gone through backwards is one in the other direction: what its copies have before
 * them they have behind them there. */
static ms_queue_layer in_search(const search *s, const ms_layer_cost *cost, ms_cost_pass pass)
{
    ms_queue_layer layer = ms_queue_layer_of(cost, s->p->costs->micro_steps - 1, pass);
    if (pass != s->pass && layer.link_ms > 0)
        layer.at_ms = layer.pass_ms - layer.at_ms;
    return layer;
}

/* ---- a segment ---- */

static bool count_kind(search *s, uint32_t segment, uint32_t layer)
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
static bool begin_segment(search *s, uint32_t segment)
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

static bool is_same(const search *s, const beginning *a, const beginning *b)
{
    return fabs(a->states[0] - b->states[0]) < s->same &&
           fabs(a->states[1] - b->states[1]) < s->same &&
           memcmp(a->left, b->left, s->kind_count * sizeof *a->left) == 0;
}

static void offer(search *s, uint32_t side, const beginning *b)
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

static void go_on(search *s, uint32_t side, uint32_t from, uint32_t k)
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
static void take_layer(search *s, uint32_t side, step *steps)
{
    s->count[1 - side] = 0;
    for (uint32_t i = 0; i < s->count[side]; i++)
        for (uint32_t k = 0; k < s->kind_count; k++)
            if (s->best[side][i].left[k] > 0)
                go_on(s, side, i, k);
    for (uint32_t i = 0; i < s->count[1 - side]; i++)
        steps[i] = (step){s->best[1 - side][i].from, s->best[1 - side][i].option};
}

static bool run(search *s)
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
static void read_steps(const search *s, uint32_t *options)
{
    uint32_t count = s->p->costs->layer_count, place = 0;
    for (uint32_t done = count; done-- > 0;) {
        const step *at = &s->steps[(size_t)WIDTH * done + place];
        options[s->pass == MS_COST_FORWARD ? done : count - 1 - done] = at->option;
        place = at->from;
    }
}

ms_status ms_assignment_arrange(ms_arena *arena, const ms_cost_problem *p,
                                ms_assignment *assignment, ms_error *err)
{
    const ms_cost_queue *row =
        ms_cost_queues_longest(p, assignment->options, p->costs->micro_steps - 1);
    if (!row)
        return MS_OK;
    search s = {.p = p,
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
