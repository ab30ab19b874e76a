/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Binding rows split the candidates into ranges, each with one price per MiB. The first range has
 * all candidates up to the last row. Its price is raised until enough is freed; it is then split at
 * the row inside that still lacks most. Prices fall from range to range, since bytes freed earlier
 * help later rows too.
 *
 * The bound is Lagrangian: the needs of the rows at their prices, minus the gains of the
 * candidates.
 */
#include "decide/plan/modules/prices.h"

#include <math.h>
#include <string.h>

#include "base/vec.h"
#include "decide/plan/modules/candidates.h"

enum { MOST_RANGES = 256, HALVINGS = 60, NOTHING = 0 };
#define HIGHEST_PRICE 1e15

typedef struct range {
    uint32_t first, end;    /* candidates */
    uint32_t from_row, row; /* rows inside: from_row .. row - 1; the last one is `row` */
    double freed_mib;       /* before the range */
    double price;
} range;

typedef struct pricing {
    const ms_candidates *candidates;
    const ms_deadline *limit;
    double *price, *inside;       /* by candidate: of a MiB; what is earned inside, at most 0 */
    uint32_t *picked;             /* by candidate: corner and 1, or NOTHING */
    uint32_t *low, *high, *mixed; /* the same: frees too little; enough; the first of these */
    ms_vec(range) open, done;
    bool no_memory;
} pricing;

static double mib(uint64_t bytes)
{
    return (double)bytes / MS_MIB;
}

static double freed_by(const pricing *p, uint32_t candidate, uint32_t pick)
{
    return pick == NOTHING ? 0 : p->candidates->items[candidate].corners[pick - 1].freed_mib;
}

/* Every candidate does what pays most, together with what is inside it. Returns what all cost less
 * what they earn. */
static double pick_all(pricing *p)
{
    const ms_candidates *c = p->candidates;
    double total = 0;
    memset(p->inside, 0, c->count * sizeof *p->inside);
    for (uint32_t i = 0; i < c->count; i++) {
        const ms_candidate *candidate = &c->items[i];
        double best = p->inside[i];
        p->picked[i] = NOTHING;
        for (uint32_t k = 0; k < candidate->corner_count; k++) {
            const ms_corner *corner = &candidate->corners[k];
            double value = corner->ms - p->price[i] * corner->freed_mib;
            if (value < best) {
                best = value;
                p->picked[i] = k + 1;
            }
        }
        *(candidate->around == MS_NO_CANDIDATE ? &total : &p->inside[candidate->around]) += best;
    }
    /* From outside inwards; `inside` now says what is blocked. */
    for (uint32_t i = c->count; i-- > 0;) {
        uint32_t around = c->items[i].around;
        p->inside[i] = around != MS_NO_CANDIDATE && (p->inside[around] > 0 || p->picked[around]);
        if (p->inside[i] > 0)
            p->picked[i] = NOTHING;
    }
    return total;
}

static double freed_at(pricing *p, const range *r, double price, uint32_t *picks)
{
    double freed = 0;
    for (uint32_t i = r->first; i < r->end; i++)
        p->price[i] = price;
    pick_all(p);
    for (uint32_t i = r->first; i < r->end; i++) {
        picks[i] = p->picked[i];
        freed += freed_by(p, i, picks[i]);
    }
    return freed;
}

/* The first price at which the range frees what it must. */
static void find_price(pricing *p, range *r)
{
    double lack = mib(p->candidates->rows[r->row].need_bytes) - r->freed_mib;
    double low = 0, high = 1e-6;
    if (freed_at(p, r, 0, p->low) >= lack) {
        memcpy(&p->high[r->first], &p->low[r->first], (r->end - r->first) * sizeof *p->high);
        high = 0;
    }
    while (high > 0 && high < HIGHEST_PRICE && freed_at(p, r, high, p->high) < lack) {
        memcpy(&p->low[r->first], &p->high[r->first], (r->end - r->first) * sizeof *p->low);
        low = high;
        high *= 4;
    }
    for (int i = 0; i < HALVINGS && high - low > 1e-13 * high; i++) {
        double middle = low + (high - low) / 2;
        bool is_enough = freed_at(p, r, middle, p->mixed) >= lack;
        memcpy(is_enough ? &p->high[r->first] : &p->low[r->first], &p->mixed[r->first],
               (r->end - r->first) * sizeof *p->mixed);
        *(is_enough ? &high : &low) = middle;
        if (ms_deadline_reached(p->limit))
            break;
    }
    r->price = high;
    for (uint32_t i = r->first; i < r->end; i++)
        p->price[i] = high;
}

/* As many candidates as needed free what `high` does, the first ones; the rest what `low` does. */
static void mix(pricing *p, const range *r)
{
    double freed = 0, lack = mib(p->candidates->rows[r->row].need_bytes) - r->freed_mib;
    for (uint32_t i = r->first; i < r->end; i++)
        freed += freed_by(p, i, p->low[i]);
    for (uint32_t i = r->first; i < r->end; i++) {
        p->mixed[i] = freed < lack ? p->high[i] : p->low[i];
        freed += freed_by(p, i, p->mixed[i]) - freed_by(p, i, p->low[i]);
    }
}

/* The row inside of a range that lacks most, or that of the range. */
static uint32_t worst_row(const pricing *p, const range *r)
{
    uint32_t worst = r->row, next = r->first;
    double freed = r->freed_mib, most = 1e-9;
    for (uint32_t row = r->from_row; row < r->row; row++) {
        for (; next < p->candidates->rows[row].before; next++)
            freed += freed_by(p, next, p->mixed[next]);
        double lack = mib(p->candidates->rows[row].need_bytes) - freed;
        if (lack > most && next > r->first) {
            most = lack;
            worst = row;
        }
    }
    return worst;
}

/* Ranges come out in the order of the candidates. */
static void split(pricing *p, range r)
{
    uint32_t row = worst_row(p, &r);
    bool is_split = row != r.row && p->done.count + p->open.count < MOST_RANGES;
    if (!is_split) {
        p->no_memory |= !ms_vec_push(&p->done, r);
        return;
    }
    range second = r, first = r;
    second.first = first.end = p->candidates->rows[row].before;
    second.from_row = row + 1;
    second.freed_mib = mib(p->candidates->rows[row].need_bytes);
    first.row = row;
    p->no_memory |= !ms_vec_push(&p->open, second) || !ms_vec_push(&p->open, first);
}

/* ---- the answer ---- */

static double find_bound(pricing *p)
{
    double lowest = INFINITY, wanted = 0;
    for (uint32_t i = 0; i < p->done.count; i++) {
        range *r = &p->done.items[i];
        lowest = r->price < lowest ? r->price : lowest;
        r->price = lowest;
        for (uint32_t k = r->first; k < r->end; k++)
            p->price[k] = lowest;
    }
    for (uint32_t i = 0; i < p->done.count; i++) {
        const range *r = &p->done.items[i];
        double next = i + 1 < p->done.count ? r[1].price : 0;
        wanted += (r->price - next) * mib(p->candidates->rows[r->row].need_bytes);
    }
    return wanted + pick_all(p);
}

static uint32_t whole_parts(const ms_candidate *candidate, uint32_t pick)
{
    double parts = ceil(candidate->corners[pick - 1].fraction * MS_PARTS - 1e-6);
    return parts < MS_PARTS ? (uint32_t)parts : MS_PARTS;
}

static void read_plan(const pricing *p, uint32_t *parts)
{
    for (uint32_t i = p->candidates->count; i-- > 0;) {
        const ms_candidate *candidate = &p->candidates->items[i];
        bool is_blocked = false;
        for (uint32_t a = candidate->around; a != MS_NO_CANDIDATE;
             a = p->candidates->items[a].around)
            is_blocked |= parts[p->candidates->items[a].index] > 0;
        if (!is_blocked && p->mixed[i] != NOTHING)
            parts[candidate->index] = whole_parts(candidate, p->mixed[i]);
        if (ms_checkpoint_freed_bytes(candidate->module, parts[candidate->index]) == 0)
            parts[candidate->index] = 0;
    }
}

static ms_status run(pricing *p, ms_prices *prices)
{
    const ms_candidates *c = p->candidates;
    range all = {.end = c->rows[c->row_count - 1].before, .row = c->row_count - 1};
    p->no_memory |= !ms_vec_push(&p->open, all);
    while (p->open.count > 0 && !p->no_memory && !ms_deadline_reached(p->limit)) {
        range r = p->open.items[--p->open.count];
        find_price(p, &r);
        mix(p, &r);
        split(p, r);
    }
    if (p->no_memory)
        return MS_ERR_NOMEM;
    if (p->done.count == 0) /* out of time before there was any price */
        prices->parts = NULL;
    while (p->open.count > 0) /* out of time: as they were before */
        p->no_memory |= !ms_vec_push(&p->done, p->open.items[--p->open.count]);
    double bound = find_bound(p);
    prices->bound_ms = bound > 0 ? bound * (1 - 1e-9) : 0; /* less what rounding may add */
    if (prices->parts)
        read_plan(p, prices->parts);
    return p->no_memory ? MS_ERR_NOMEM : MS_OK;
}

ms_status ms_prices_find(ms_arena *arena, const ms_candidates *candidates, const ms_deadline *limit,
                         ms_prices *prices)
{
    uint32_t count = candidates->count;
    pricing p = {.candidates = candidates, .limit = limit};
    p.price = ms_arena_array(arena, double, count);
    p.inside = ms_arena_array(arena, double, count);
    p.picked = ms_arena_array(arena, uint32_t, count);
    p.low = ms_arena_array(arena, uint32_t, count);
    p.high = ms_arena_array(arena, uint32_t, count);
    p.mixed = ms_arena_array(arena, uint32_t, count);
    prices->parts = ms_arena_array(arena, uint32_t, candidates->task->graph->count);
    prices->price = p.price;
    ms_status status = MS_ERR_NOMEM;
    if (p.price && p.inside && p.picked && p.low && p.high && p.mixed && prices->parts)
        status = run(&p, prices);
    ms_vec_free(&p.open);
    ms_vec_free(&p.done);
    return status;
}
