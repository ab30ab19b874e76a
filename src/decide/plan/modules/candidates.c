/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "decide/plan/modules/candidates.h"

#include <math.h>
#include <string.h>

/* ---- recount ---- */

/* floor(made * parts / MS_PARTS) without a product that could wrap. */
static uint64_t share(uint64_t made, uint32_t parts)
{
    return made / MS_PARTS * parts + made % MS_PARTS * parts / MS_PARTS;
}

uint64_t ms_checkpoint_freed_bytes(const ms_module *module, uint32_t parts)
{
    /* What is made but was never kept must be discarded first, for nothing. */
    uint64_t discarded = share(module->made_bytes, parts);
    uint64_t never_kept = module->made_bytes - module->saved_bytes;
    return discarded > never_kept ? discarded - never_kept : 0;
}

double ms_checkpoint_ms(const ms_module *module, uint32_t parts)
{
    double fraction = (double)parts / MS_PARTS, most = 0;
    for (uint32_t i = 0; parts > 0 && i < module->segment_count; i++) {
        double here = module->segments[i].slope * fraction + module->segments[i].intercept;
        most = here > most ? here : most;
    }
    return most * module->operators_ms;
}

uint64_t ms_checkpoint_kept_bytes(const ms_checkpoint_task *task, uint32_t module)
{
    const ms_module *m = &task->graph->modules[module];
    uint64_t sharded = task->graph->modules[0].param_bytes + m->grad_total_bytes;
    uint64_t each = sharded / task->world_size + (sharded % task->world_size != 0);
    return m->act_total_bytes + m->act_grad_bytes + each + task->reserve_bytes;
}

uint64_t ms_checkpoint_peak(const ms_checkpoint_task *task, const uint32_t *order,
                            const uint32_t *parts, uint32_t *module)
{
    uint64_t freed = 0, peak = 0;
    *module = order[0];
    for (uint32_t i = 0; i < task->graph->count; i++) {
        uint32_t m = order[i];
        uint64_t kept = ms_checkpoint_kept_bytes(task, m);
        uint64_t need = kept > freed ? kept - freed : 0;
        if (need > peak) {
            peak = need;
            *module = m;
        }
        freed += ms_checkpoint_freed_bytes(&task->graph->modules[m], parts[m]);
    }
    return peak;
}

/* ---- curves ---- */

typedef struct line {
    double slope, intercept;
} line;

static line line_at(const ms_module *m, uint32_t i)
{
    if (i == m->segment_count) /* no time is less than none */
        return (line){0, 0};
    return (line){m->segments[i].slope, m->segments[i].intercept};
}

/* The line that is highest at a fraction and right after it. */
static line highest(const ms_module *m, double fraction)
{
    line best = line_at(m, m->segment_count);
    for (uint32_t i = 0; i < m->segment_count; i++) {
        line l = line_at(m, i);
        double above = l.slope * fraction + l.intercept - (best.slope * fraction + best.intercept);
        if (above > 1e-12 || (above > -1e-12 && l.slope > best.slope))
            best = l;
    }
    return best;
}

/* Where the first steeper line crosses; 1 when none does before. */
static double next_corner(const ms_module *m, line from, double fraction)
{
    double next = 1;
    for (uint32_t i = 0; i <= m->segment_count; i++) {
        line l = line_at(m, i);
        if (!(l.slope > from.slope))
            continue;
        double at = (from.intercept - l.intercept) / (l.slope - from.slope);
        if (at > fraction && at < next)
            next = at;
    }
    return next;
}

static ms_corner corner_at(const ms_module *m, double fraction)
{
    double share = 0, made = (double)m->made_bytes, saved = (double)m->saved_bytes;
    for (uint32_t i = 0; i <= m->segment_count; i++) {
        line l = line_at(m, i);
        double here = l.slope * fraction + l.intercept;
        share = here > share ? here : share;
    }
    double freed = (made * fraction - (made - saved)) / MS_MIB;
    return (ms_corner){fraction, freed > 0 ? freed : 0, m->operators_ms * share};
}

static ms_status find_corners(ms_arena *arena, ms_candidate *candidate)
{
    const ms_module *m = candidate->module;
    ms_corner *corners = ms_arena_array(arena, ms_corner, m->segment_count + (size_t)2);
    double fraction = (double)(m->made_bytes - m->saved_bytes) / (double)m->made_bytes;
    uint32_t count = 0;
    if (!corners)
        return MS_ERR_NOMEM;
    corners[count++] = corner_at(m, fraction);
    while (fraction < 1 && count < m->segment_count + 2) {
        fraction =
            count == m->segment_count + 1 ? 1 : next_corner(m, highest(m, fraction), fraction);
        corners[count++] = corner_at(m, fraction);
    }
    candidate->corners = corners;
    candidate->corner_count = count;
    return MS_OK;
}

/* ---- rows and candidates ---- */

static bool may_choose(const ms_checkpoint_task *task, uint32_t index)
{
    const ms_module *m = &task->graph->modules[index];
    return task->may[index] && !m->is_leaf && m->saved_bytes > 0;
}

static void add_rows(ms_candidates *c)
{
    uint32_t before = 0;
    uint64_t most = 0;
    for (uint32_t i = 0; i < c->task->graph->count; i++) {
        uint32_t index = c->order[i];
        uint64_t kept = ms_checkpoint_kept_bytes(c->task, index);
        uint64_t need = kept > c->task->budget_bytes ? kept - c->task->budget_bytes : 0;
        if (need > most) {
            most = need;
            c->row_count -= c->row_count > 0 && c->rows[c->row_count - 1].before == before;
            c->rows[c->row_count++] = (ms_row){before, need};
        }
        before += may_choose(c->task, index);
    }
}

static ms_status add_choices(ms_arena *arena, ms_candidates *c, uint32_t *choice_of)
{
    const ms_graph *g = c->task->graph;
    uint32_t wanted = c->row_count > 0 ? c->rows[c->row_count - 1].before : 0;
    memset(choice_of, 0xff, g->count * sizeof *choice_of);
    for (uint32_t i = 0; i < g->count && c->count < wanted; i++)
        if (may_choose(c->task, c->order[i])) {
            choice_of[c->order[i]] = c->count;
            c->items[c->count++] =
                (ms_candidate){.module = &g->modules[c->order[i]], .index = c->order[i]};
        }
    for (uint32_t i = 0; i < c->count; i++) {
        ms_candidate *candidate = &c->items[i];
        uint32_t a = candidate->module->parent;
        while (a != MS_GRAPH_NO_MODULE && choice_of[a] == MS_NO_CANDIDATE)
            a = g->modules[a].parent;
        candidate->around = a == MS_GRAPH_NO_MODULE ? MS_NO_CANDIDATE : choice_of[a];
        if (find_corners(arena, candidate) != MS_OK)
            return MS_ERR_NOMEM;
    }
    return MS_OK;
}

ms_status ms_candidates_prepare(ms_arena *arena, const ms_checkpoint_task *task,
                                ms_candidates *candidates)
{
    uint32_t count = task->graph->count;
    *candidates = (ms_candidates){.task = task};
    candidates->order = ms_arena_array(arena, uint32_t, count);
    candidates->items = ms_arena_array(arena, ms_candidate, count);
    candidates->rows = ms_arena_array(arena, ms_row, count);
    candidates->scratch = ms_arena_array(arena, uint64_t, count + (size_t)1);
    candidates->most_kept = ms_arena_array(arena, uint64_t, count);
    uint32_t *choice_of = ms_arena_array(arena, uint32_t, count);
    if (!candidates->order || !candidates->items || !candidates->rows)
        return MS_ERR_NOMEM;
    if (!candidates->scratch || !candidates->most_kept || !choice_of)
        return MS_ERR_NOMEM;
    for (uint32_t i = 0; i < count; i++)
        candidates->order[task->graph->modules[i].left] = i;
    for (uint32_t i = count; i-- > 0;) {
        uint64_t kept = ms_checkpoint_kept_bytes(task, i), *here = &candidates->most_kept[i];
        *here = kept > *here ? kept : *here;
        uint64_t *outer = i > 0 ? &candidates->most_kept[task->graph->modules[i].parent] : here;
        *outer = *here > *outer ? *here : *outer;
    }
    add_rows(candidates);
    return add_choices(arena, candidates, choice_of);
}

uint32_t ms_candidate_parts(const ms_module *module, uint64_t bytes)
{
    uint64_t wanted = bytes + (module->made_bytes - module->saved_bytes);
    double fraction = (double)wanted / (double)module->made_bytes * MS_PARTS;
    uint32_t parts = fraction < MS_PARTS ? (uint32_t)fraction : MS_PARTS;
    while (parts < MS_PARTS && ms_checkpoint_freed_bytes(module, parts) < bytes)
        parts++;
    return parts;
}

/* ---- what can fit ---- */

/* What modules before the first of a subtree have freed is the same whether the subtree's root is
 * taken or the best of what lies inside. The root helps inside itself nothing. Both are right as
 * long as more freed is never worse, so the most is taken, module for module. */
bool ms_candidates_fit(const ms_candidates *candidates, uint64_t budget_bytes, uint32_t *parts)
{
    const ms_graph *g = candidates->task->graph;
    uint64_t freed = 0, *freed_before = candidates->scratch;
    memset(parts, 0, g->count * sizeof *parts);
    for (uint32_t i = 0; i < g->count; i++) {
        uint32_t index = candidates->order[i], inside = g->modules[index].after - index - 1;
        const ms_module *m = &g->modules[index];
        freed_before[i] = freed;
        if (ms_checkpoint_kept_bytes(candidates->task, index) > budget_bytes + freed)
            return false;
        if (!may_choose(candidates->task, index))
            continue;
        uint64_t start = freed_before[i - inside], taken = start + m->saved_bytes;
        if (taken <= freed || candidates->most_kept[index] > budget_bytes + start)
            continue;
        memset(&parts[index + 1], 0, inside * sizeof *parts);
        parts[index] = MS_PARTS;
        freed = taken;
    }
    return true;
}

void ms_candidates_only(const ms_candidates *candidates, uint32_t *parts)
{
    for (uint32_t i = 0, next = 0; i < candidates->task->graph->count; i++) {
        uint32_t index = candidates->order[i];
        if (next < candidates->count && candidates->items[next].index == index)
            next++;
        else
            parts[index] = 0;
    }
}

uint64_t ms_candidates_least(const ms_candidates *candidates, uint32_t *parts)
{
    uint32_t module;
    memset(parts, 0, candidates->task->graph->count * sizeof *parts);
    uint64_t low = 0,
             high = ms_checkpoint_peak(candidates->task, candidates->order, parts, &module);
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (ms_candidates_fit(candidates, middle, parts))
            high = middle;
        else
            low = middle + 1;
    }
    ms_candidates_fit(candidates, low, parts);
    return low;
}

/* ---- curves ---- */

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
