/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "decide/compare/compare_phases.h"

#include <string.h>

typedef struct phases {
    const ms_recorded_phase *items;
    uint32_t count;
} phases;

static phases phases_of(const ms_recorded *r)
{
    return (phases){r->phases, r->phase_count};
}

static bool is_alike(const ms_recorded_phase *a, const ms_recorded_phase *b)
{
    return strcmp(a->name, b->name) == 0;
}

/* ---- in order ---- */

/* A capture tells passes of one kind that follow each other, as in a pipeline's schedule, as one:
 * so are neighbours of one name here. It has the highest of their peaks. */
static phases joined(ms_arena *arena, const ms_recorded *r)
{
    ms_recorded_phase *rows = ms_arena_array(arena, ms_recorded_phase, r->phase_count);
    uint32_t count = 0;
    for (uint32_t i = 0; rows && i < r->phase_count; i++) {
        const ms_recorded_phase *p = &r->phases[i];
        if (count == 0 || !is_alike(&rows[count - 1], p)) {
            rows[count++] = *p;
            continue;
        }
        ms_recorded_phase *one = &rows[count - 1];
        one->end_bytes = p->end_bytes;
        if (p->peak_bytes > one->peak_bytes)
            one->peak_bytes = p->peak_bytes;
    }
    return (phases){rows, count};
}

/* A row that stands for several micro-steps has no place in an order. */
static bool is_same_order(phases a, phases b)
{
    if (a.count != b.count)
        return false;
    for (uint32_t i = 0; i < a.count; i++)
        if (!is_alike(&a.items[i], &b.items[i]) || a.items[i].repeats > 1 || b.items[i].repeats > 1)
            return false;
    return true;
}

/* ---- by name ---- */

static bool is_only_one(phases all, const ms_recorded_phase *like)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < all.count; i++)
        count += is_alike(&all.items[i], like);
    return count == 1;
}

/* A phase may stand for several micro-steps; which one an optimizer's belongs to is not the same in
 * all reports. */
static const ms_recorded_phase *find(phases all, phases own, const ms_recorded_phase *like)
{
    const ms_recorded_phase *items = all.items;
    for (uint32_t i = 0; i < all.count; i++) {
        const ms_recorded_phase *p = items + i;
        bool before =
            p->micro_step < like->micro_step && like->micro_step - p->micro_step < p->repeats;
        if (is_alike(p, like) &&
            (before || p->micro_step == like->micro_step ||
             (strcmp(p->name, "forward") != 0 && strcmp(p->name, "backward") != 0 &&
              is_only_one(all, like) && is_only_one(own, like))))
            return p;
    }
    return NULL;
}

/* Those of the report that has more of them, then those that only the other one has. */
static uint32_t pair_by_name(phases a, phases b, ms_compare_phase_pair *pairs)
{
    bool is_swapped = b.count > a.count;
    phases lead = is_swapped ? b : a, rest = is_swapped ? a : b;
    uint32_t count = 0;
    for (uint32_t i = 0; i < lead.count; i++) {
        const ms_recorded_phase *p = &lead.items[i], *q = find(rest, lead, p);
        pairs[count++] = is_swapped ? (ms_compare_phase_pair){q, p} : (ms_compare_phase_pair){p, q};
    }
    for (uint32_t i = 0; i < rest.count; i++) {
        const ms_recorded_phase *q = &rest.items[i];
        if (!find(lead, rest, q))
            pairs[count++] =
                is_swapped ? (ms_compare_phase_pair){q, NULL} : (ms_compare_phase_pair){NULL, q};
    }
    return count;
}

ms_compare_phase_pair *ms_compare_pair_phases(ms_arena *arena, const ms_recorded *first,
                                              const ms_recorded *second, uint32_t *count)
{
    phases a = phases_of(first), b = phases_of(second);
    ms_compare_phase_pair *pairs =
        ms_arena_array(arena, ms_compare_phase_pair, (size_t)a.count + b.count);
    phases fewer_a = joined(arena, first), fewer_b = joined(arena, second);
    if (!pairs || !fewer_a.items || !fewer_b.items)
        return NULL;
    bool is_ordered = is_same_order(a, b),
         is_joined = !is_ordered && is_same_order(fewer_a, fewer_b);
    if (!is_ordered && !is_joined) {
        *count = pair_by_name(a, b, pairs);
        return pairs;
    }
    *count = is_joined ? fewer_a.count : a.count;
    for (uint32_t i = 0; i < *count; i++)
        pairs[i] = is_joined ? (ms_compare_phase_pair){&fewer_a.items[i], &fewer_b.items[i]}
                             : (ms_compare_phase_pair){&a.items[i], &b.items[i]};
    return pairs;
}
