/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A corner rarely frees whole bytes. Of a module that is so small that a byte matters, its
 * neighbours on both sides take its place, which is exact for plans that free whole bytes; of other
 * modules the one above does, in the time of the corner.
 */
#include "decide/plan/modules/curves.h"

#include <math.h>

enum { MS_BITS = 46 };

typedef struct builder {
    const ms_candidate *candidate;
    double quantum_ms;
    ms_curve_point *points; /* of the candidate */
    uint32_t count;
} builder;

static double corner_bytes(const ms_corner *corner)
{
    return corner->freed_mib * MS_MIB;
}

static double ms_at(const ms_candidate *candidate, double bytes)
{
    const ms_corner *from = candidate->corners, *last = from + candidate->corner_count - 1;
    while (from < last && corner_bytes(from + 1) < bytes)
        from++;
    if (from == last || bytes <= corner_bytes(from))
        return from->ms;
    double share = (bytes - corner_bytes(from)) / (corner_bytes(from + 1) - corner_bytes(from));
    return from->ms + share * (from[1].ms - from->ms);
}

static void add_point(builder *b, double bytes, double ms)
{
    double most = (double)b->candidate->module->saved_bytes;
    bytes = bytes < most ? bytes : most;
    if (b->count > 0 && b->points[b->count - 1].bytes >= bytes)
        return;
    ms = floor(ms / b->quantum_ms) * b->quantum_ms;
    b->points[b->count++] = (ms_curve_point){bytes, ms};
}

static void add_candidate(builder *b)
{
    const ms_candidate *candidate = b->candidate;
    bool is_small = candidate->module->made_bytes < MS_PARTS;
    for (uint32_t i = 0; i < candidate->corner_count; i++) {
        const ms_corner *corner = &candidate->corners[i];
        double bytes = corner_bytes(corner), below = floor(bytes + 1e-3);
        double above = ceil(bytes - 1e-3);
        if (is_small && below < above) {
            add_point(b, below, ms_at(candidate, below));
            add_point(b, above, ms_at(candidate, above));
        } else
            add_point(b, above, corner->ms);
    }
    for (uint32_t i = b->count - 1; i-- > 0;) /* more may be discarded */
        b->points[i].ms = fmin(b->points[i].ms, b->points[i + 1].ms);
}

ms_status ms_curves_make(ms_arena *arena, const ms_candidates *candidates, double most_ms,
                         ms_curves *curves)
{
    size_t corners = 0;
    int exponent;
    for (uint32_t i = 0; i < candidates->count; i++)
        corners += candidates->items[i].corner_count;
    curves->points = ms_arena_array(arena, ms_curve_point, 2 * corners);
    curves->first = ms_arena_array(arena, uint32_t, candidates->count + (size_t)1);
    if (!curves->points || !curves->first)
        return MS_ERR_NOMEM;
    frexp(most_ms, &exponent);
    uint32_t next = 0;
    for (uint32_t i = 0; i < candidates->count; i++) {
        builder b = {.candidate = &candidates->items[i],
                     .quantum_ms = ldexp(1, exponent - MS_BITS),
                     .points = &curves->points[next]};
        curves->first[i] = next;
        add_candidate(&b);
        next += b.count;
    }
    curves->first[candidates->count] = next;
    return MS_OK;
}
