/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Items are added by value per weight. A state is a set of the items so far; it is kept while no
 * state is both lighter and more valuable, and while filling its remaining capacity with fractions
 * of later items could beat the best set found. States link to their predecessors.
 */
#include "decide/plan/solver/knapsack.h"

#include <stdlib.h>

#include "base/vec.h"

/* A set must be better by more than what summing in another order could change. */
#define NOISE (1 + 1e-12)
#define NO_STATE UINT32_MAX

typedef struct ranked {
    double weight, value;
    uint32_t index;
} ranked;

typedef struct state {
    double weight, value;
    uint32_t parent; /* or NO_STATE: nothing taken */
    uint32_t item;   /* rank of the item that was added last */
} state;

typedef struct search {
    ranked *items;
    uint32_t count;
    double capacity;
    ms_vec(state) states;
    ms_vec(uint32_t) front, next; /* by weight rising, value rising */
    double best;
    uint32_t best_state, best_from; /* that state, and greedily the items from that rank on */
    ms_deadline limit;              /* only its stop */
    bool is_stopped, no_memory;
} search;

static ms_status no_memory(ms_error *err)
{
    return ms_fail(err, MS_ERR_NOMEM, "out of memory for the knapsack");
}

static int compare_ranked(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    double left = x->value * y->weight, right = y->value * x->weight;
    if (left > right || left < right)
        return left > right ? -1 : 1;
    return x->index < y->index ? -1 : 1;
}

/* Tries the state with all further items that fit, and says what fractions could reach. */
static double look_ahead(search *s, uint32_t at, uint32_t rank)
{
    double rest = s->capacity - s->states.items[at].weight, value = s->states.items[at].value;
    double bound = 0;
    bool is_bounded = false;
    for (uint32_t i = rank; i < s->count; i++) {
        const ranked *item = &s->items[i];
        if (item->weight <= rest) {
            rest -= item->weight;
            value += item->value;
        } else if (!is_bounded) {
            bound = value + item->value * (rest / item->weight);
            is_bounded = true;
        }
    }
    if (value > s->best * NOISE) {
        s->best = value;
        s->best_state = at;
        s->best_from = rank;
    }
    return is_bounded ? bound : value;
}

static void add_to_next(search *s, uint32_t at)
{
    const state *x = &s->states.items[at];
    if (s->next.count > 0 && s->states.items[s->next.items[s->next.count - 1]].value >= x->value)
        return;
    if (!ms_vec_push(&s->next, at))
        s->no_memory = true;
}

/* The state plus an item, if that fits and may still lead to the best. */
static uint32_t grow(search *s, uint32_t from, uint32_t rank)
{
    state grown = s->states.items[from];
    grown.weight += s->items[rank].weight;
    grown.value += s->items[rank].value;
    grown.parent = from;
    grown.item = rank;
    s->is_stopped = s->is_stopped || ms_deadline_stopped(&s->limit);
    if (grown.weight > s->capacity || s->states.count >= MS_KNAPSACK_MAX_STATES || s->is_stopped)
        return NO_STATE;
    if (!ms_vec_push(&s->states, grown)) {
        s->no_memory = true;
        return NO_STATE;
    }
    uint32_t made = s->states.count - 1;
    if (look_ahead(s, made, rank + 1) > s->best * NOISE || s->best_state == made)
        return made;
    s->states.count--;
    return NO_STATE;
}

/* Merges the front with the front plus one item; both are sorted by weight. */
static void step(search *s, uint32_t rank)
{
    uint32_t grown = NO_STATE, from = 0;
    s->next.count = 0;
    for (uint32_t i = 0; i <= s->front.count; i++) {
        uint32_t old = i < s->front.count ? s->front.items[i] : NO_STATE;
        for (;;) {
            while (grown == NO_STATE && from < s->front.count)
                grown = grow(s, s->front.items[from++], rank);
            if (grown == NO_STATE ||
                (old != NO_STATE && s->states.items[grown].weight >= s->states.items[old].weight))
                break;
            add_to_next(s, grown);
            grown = NO_STATE;
        }
        if (old != NO_STATE && (look_ahead(s, old, rank + 1) > s->best * NOISE))
            add_to_next(s, old);
    }
    uint32_t *items = s->front.items, capacity = s->front.capacity;
    s->front.items = s->next.items;
    s->front.count = s->next.count;
    s->front.capacity = s->next.capacity;
    s->next.items = items;
    s->next.capacity = capacity;
}

static void mark(const search *s, bool *taken)
{
    uint32_t at = s->best_state;
    double rest = s->capacity - s->states.items[at].weight;
    for (uint32_t i = s->best_from; i < s->count; i++)
        if (s->items[i].weight <= rest) {
            rest -= s->items[i].weight;
            taken[s->items[i].index] = true;
        }
    for (; s->states.items[at].parent != NO_STATE; at = s->states.items[at].parent)
        taken[s->items[s->states.items[at].item].index] = true;
}

static ms_status run(search *s, bool *taken, ms_error *err)
{
    if (!ms_vec_push(&s->states, (state){.parent = NO_STATE}) || !ms_vec_push(&s->front, 0))
        return no_memory(err);
    look_ahead(s, 0, 0);
    for (uint32_t i = 0; i < s->count && s->front.count > 0 && !s->no_memory && !s->is_stopped; i++)
        step(s, i);
    if (s->no_memory)
        return no_memory(err);
    mark(s, taken);
    return MS_OK;
}

ms_status ms_knapsack(const ms_item *items, uint32_t count, double capacity, const ms_stop *stop,
                      bool *taken, bool *is_proven, ms_error *err)
{
    search s = {.capacity = capacity, .limit = {.stop = stop}};
    s.items = calloc(count + (size_t)1, sizeof *s.items);
    if (!s.items)
        return no_memory(err);
    for (uint32_t i = 0; i < count; i++) {
        taken[i] = false;
        if (items[i].value > 0)
            s.items[s.count++] = (ranked){items[i].weight, items[i].value, i};
    }
    qsort(s.items, s.count, sizeof *s.items, compare_ranked);
    ms_status status = run(&s, taken, err);
    *is_proven = s.states.count < MS_KNAPSACK_MAX_STATES && !s.is_stopped;
    free(s.items);
    ms_vec_free(&s.states);
    ms_vec_free(&s.front);
    ms_vec_free(&s.next);
    return status;
}
