/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "decide/plan/modules/promises.h"

#include <math.h>

static double price_at(const ms_promises *p, uint32_t place)
{
    return place < p->candidates->count ? p->price[place] / MS_MIB : 0;
}

double ms_promise_ms(const ms_promises *p, uint32_t place, double bytes, double ms)
{
    return ms + p->rest_ms[place] + p->needs_ms[place] - price_at(p, place) * bytes;
}

double ms_promise_need(const ms_promises *p, uint32_t place)
{
    const ms_candidates *c = p->candidates;
    uint32_t low = 0, high = c->row_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (c->rows[middle].before <= place)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 ? (double)c->rows[low - 1].need_bytes : 0;
}

static double least_ms(const ms_promises *p, const ms_curves *curves, uint32_t candidate)
{
    double least = INFINITY, price = price_at(p, candidate);
    for (uint32_t k = curves->first[candidate]; k < curves->first[candidate + 1]; k++) {
        double ms = curves->points[k].ms - price * curves->points[k].bytes;
        least = ms < least ? ms : least;
    }
    return least;
}

/* From the last place on: either nothing of a candidate is discarded, or a part of it and nothing
 * inside it. */
static void find_rest(ms_promises *p, const ms_curves *curves)
{
    const ms_candidates *c = p->candidates;
    uint32_t row = c->row_count;
    double needs = 0;
    for (uint32_t i = 0; i < c->count; i++)
        p->rest_ms[i] = INFINITY;
    p->rest_ms[c->count] = p->needs_ms[c->count] = 0;
    for (uint32_t i = c->count; i-- > 0;) {
        double with = least_ms(p, curves, i) + p->rest_ms[i + 1];
        double *rest = &p->rest_ms[i - p->inside[i]];
        *rest = with < *rest ? with : *rest;
        rest = &p->rest_ms[i];
        *rest = p->rest_ms[i + 1] < *rest ? p->rest_ms[i + 1] : *rest;
        for (; row > 0 && c->rows[row - 1].before == i + 1; row--)
            needs += (price_at(p, i) - price_at(p, i + 1)) * (double)c->rows[row - 1].need_bytes;
        p->needs_ms[i] = needs;
    }
}

ms_status ms_promises_make(ms_arena *arena, const ms_candidates *candidates,
                           const ms_curves *curves, const double *price, ms_promises *promises)
{
    uint32_t count = candidates->count;
    *promises = (ms_promises){.candidates = candidates, .price = price};
    promises->inside = ms_arena_array(arena, uint32_t, count);
    promises->rest_ms = ms_arena_array(arena, double, count + (size_t)1);
    promises->needs_ms = ms_arena_array(arena, double, count + (size_t)1);
    if (!promises->inside || !promises->rest_ms || !promises->needs_ms)
        return MS_ERR_NOMEM;
    for (uint32_t i = 0; i < count; i++) /* from the inside out */
        if (candidates->items[i].around != MS_NO_CANDIDATE)
            promises->inside[candidates->items[i].around] += promises->inside[i] + 1;
    find_rest(promises, curves);
    return MS_OK;
}
