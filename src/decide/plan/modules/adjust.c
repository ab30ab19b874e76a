/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "decide/plan/modules/adjust.h"

#include "decide/plan/modules/candidates.h"

#include <math.h>

enum { MOST_CHANGES = 4096, MOST_LOOKS = 4000000 };

double ms_candidates_ms(const ms_candidates *candidates, const uint32_t *parts)
{
    double ms = 0;
    for (uint32_t i = 0; i < candidates->count; i++)
        ms += ms_checkpoint_ms(candidates->items[i].module, parts[candidates->items[i].index]);
    return ms;
}

static uint64_t freed_by(const ms_candidate *candidate, const uint32_t *parts)
{
    return ms_checkpoint_freed_bytes(candidate->module, parts[candidate->index]);
}

/* ---- discarding less ---- */

/* By candidate: how much less it may free. False when some row is not met. */
static bool find_slack(const ms_candidates *c, const uint32_t *parts, uint64_t *slack)
{
    uint64_t freed = 0, least = UINT64_MAX;
    uint32_t row = 0;
    for (uint32_t i = 0; i <= c->count; i++) {
        slack[i] = UINT64_MAX;
        for (; row < c->row_count && c->rows[row].before == i; row++) {
            if (freed < c->rows[row].need_bytes)
                return false;
            slack[i] = freed - c->rows[row].need_bytes;
        }
        freed += i < c->count ? freed_by(&c->items[i], parts) : 0;
    }
    for (uint32_t i = c->count + 1; i-- > 0;) { /* a candidate helps the rows behind it */
        uint64_t here = slack[i];
        slack[i] = least;
        least = here < least ? here : least;
    }
    return true;
}

/* The fewest parts with which a candidate may do; none is better than few. */
static uint32_t fewer_parts(const ms_candidate *candidate, uint32_t parts, uint64_t slack)
{
    uint64_t freed = ms_checkpoint_freed_bytes(candidate->module, parts);
    return freed <= slack ? 0 : ms_candidate_parts(candidate->module, freed - slack);
}

void ms_candidates_improve(const ms_candidates *candidates, uint32_t *parts)
{
    uint64_t *slack = candidates->scratch;
    uint32_t changes = MOST_LOOKS / (candidates->count + 1);
    for (; changes > 0 && find_slack(candidates, parts, slack); changes--) {
        uint32_t best = MS_NO_CANDIDATE, best_parts = 0;
        double best_gain = 1e-9;
        for (uint32_t i = 0; i < candidates->count; i++) {
            const ms_candidate *candidate = &candidates->items[i];
            uint32_t now = parts[candidate->index];
            uint32_t fewer = now > 0 ? fewer_parts(candidate, now, slack[i]) : 0;
            double gain = now > fewer ? ms_checkpoint_ms(candidate->module, now) -
                                            ms_checkpoint_ms(candidate->module, fewer)
                                      : 0;
            if (gain > best_gain) {
                best = i;
                best_parts = fewer;
                best_gain = gain;
            }
        }
        if (best == MS_NO_CANDIDATE)
            return;
        parts[candidates->items[best].index] = best_parts;
    }
}

/* ---- discarding more ---- */

/* Bytes that lack at the first row that is not met; 0 when all are. */
static uint64_t find_lack(const ms_candidates *c, const uint32_t *parts, uint32_t *before)
{
    uint64_t freed = 0;
    uint32_t next = 0;
    for (uint32_t row = 0; row < c->row_count; row++) {
        for (; next < c->rows[row].before; next++)
            freed += freed_by(&c->items[next], parts);
        if (freed < c->rows[row].need_bytes) {
            *before = next;
            return c->rows[row].need_bytes - freed;
        }
    }
    return 0;
}

/* Whether something around a candidate, or inside it, is checkpointed. */
static bool is_blocked(const ms_candidates *c, uint32_t at, const uint32_t *parts)
{
    uint32_t index = c->items[at].index;
    for (uint32_t a = c->items[at].around; a != MS_NO_CANDIDATE; a = c->items[a].around)
        if (parts[c->items[a].index] > 0)
            return true;
    for (uint32_t d = index + 1; d < c->items[at].module->after; d++)
        if (parts[d] > 0)
            return true;
    return false;
}

bool ms_candidates_repair(const ms_candidates *candidates, uint32_t *parts)
{
    uint32_t before = 0;
    uint64_t lack;
    for (int change = 0; (lack = find_lack(candidates, parts, &before)) > 0; change++) {
        uint32_t best = MS_NO_CANDIDATE, best_parts = 0;
        double best_rate = INFINITY;
        for (uint32_t i = 0; i < before && change < MOST_CHANGES; i++) {
            const ms_candidate *candidate = &candidates->items[i];
            uint32_t now = parts[candidate->index];
            if (now == MS_PARTS || (now == 0 && is_blocked(candidates, i, parts)))
                continue;
            uint64_t freed = freed_by(candidate, parts);
            uint32_t more = ms_candidate_parts(candidate->module, freed + lack);
            uint64_t gained = ms_checkpoint_freed_bytes(candidate->module, more) - freed;
            double ms = ms_checkpoint_ms(candidate->module, more) -
                        ms_checkpoint_ms(candidate->module, now);
            double rate = ms / (double)(gained < lack ? gained : lack);
            if (gained > 0 && rate < best_rate) {
                best = i;
                best_parts = more;
                best_rate = rate;
            }
        }
        if (best == MS_NO_CANDIDATE)
            return false;
        parts[candidates->items[best].index] = best_parts;
    }
    return true;
}
