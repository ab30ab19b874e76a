/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Kinds are found from the inside out: candidates are of one kind if they have equal figures, are
 * in one stage, and contain candidates of the same kinds. Groups are found from the outside in: a
 * group has candidates of one kind within one outer group.
 */
#include "plan/modules/groups.h"

#include <stdlib.h>
#include <string.h>

typedef struct node {
    const ms_candidate *candidate;
    uint32_t index, figures, stage, kind, group;
    uint32_t height, depth; /* levels of candidates inside and around */
    uint32_t first_inside, inside_count;
    const uint32_t *kinds_inside; /* sorted */
    uint32_t class_around;
} node;

static int compare_numbers(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static int compare_doubles(double a, double b)
{
    return (a > b) - (a < b);
}

static int compare_figures(const void *a, const void *b)
{
    const ms_module *x = (*(node *const *)a)->candidate->module,
                    *y = (*(node *const *)b)->candidate->module;
    if (x->saved_bytes != y->saved_bytes)
        return x->saved_bytes < y->saved_bytes ? -1 : 1;
    if (x->made_bytes != y->made_bytes)
        return x->made_bytes < y->made_bytes ? -1 : 1;
    int order = compare_doubles(x->operators_ms, y->operators_ms);
    if (order != 0)
        return order;
    if (x->segment_count != y->segment_count)
        return x->segment_count < y->segment_count ? -1 : 1;
    for (uint32_t i = 0; i < x->segment_count && order == 0; i++) {
        order = compare_doubles(x->segments[i].slope, y->segments[i].slope);
        if (order == 0)
            order = compare_doubles(x->segments[i].intercept, y->segments[i].intercept);
    }
    return order;
}

static int compare_kinds(const void *a, const void *b)
{
    const node *x = *(node *const *)a, *y = *(node *const *)b;
    const uint32_t pairs[][2] = {{x->height, y->height},
                                 {x->figures, y->figures},
                                 {x->stage, y->stage},
                                 {x->inside_count, y->inside_count}};
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++)
        if (pairs[i][0] != pairs[i][1])
            return pairs[i][0] < pairs[i][1] ? -1 : 1;
    for (uint32_t i = 0; i < x->inside_count; i++)
        if (x->kinds_inside[i] != y->kinds_inside[i])
            return x->kinds_inside[i] < y->kinds_inside[i] ? -1 : 1;
    return 0;
}

static int compare_classes(const void *a, const void *b)
{
    const node *x = *(node *const *)a, *y = *(node *const *)b;
    const uint32_t pairs[][2] = {
        {x->depth, y->depth}, {x->class_around, y->class_around}, {x->kind, y->kind}};
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++)
        if (pairs[i][0] != pairs[i][1])
            return pairs[i][0] < pairs[i][1] ? -1 : 1;
    return 0;
}

typedef struct grouping {
    const ms_candidates *candidates;
    node *nodes; /* by candidate */
    node **sorted;
    uint32_t *kinds; /* of the candidates inside, node by node */
} grouping;

static int compare_heights(const void *a, const void *b)
{
    const node *x = *(node *const *)a, *y = *(node *const *)b;
    return (x->height > y->height) - (x->height < y->height);
}

static int compare_depths(const void *a, const void *b)
{
    const node *x = *(node *const *)a, *y = *(node *const *)b;
    return (x->depth > y->depth) - (x->depth < y->depth);
}

static void prepare(grouping *g, const bool *is_used)
{
    const ms_candidates *c = g->candidates;
    uint32_t row = 0, stage = 0, rank = 0, first = 0;
    for (uint32_t i = 0; i < c->count; i++) {
        node *n = &g->nodes[i];
        for (; row < c->row_count && c->rows[row].before <= i; row++)
            stage += is_used[row];
        n->candidate = &c->items[i];
        n->index = i;
        n->stage = stage;
        g->sorted[i] = n;
        if (n->candidate->around == MS_NO_CANDIDATE)
            continue;
        node *around = &g->nodes[n->candidate->around];
        around->inside_count++;
        if (around->height <= n->height)
            around->height = n->height + 1;
    }
    for (uint32_t i = c->count; i-- > 0;) {
        node *n = &g->nodes[i];
        n->depth =
            n->candidate->around == MS_NO_CANDIDATE ? 0 : g->nodes[n->candidate->around].depth + 1;
        n->first_inside = first;
        n->kinds_inside = &g->kinds[first];
        first += n->inside_count;
        n->inside_count = 0; /* counted again as kinds come in */
    }
    qsort(g->sorted, c->count, sizeof *g->sorted, compare_figures);
    for (uint32_t i = 0; i < c->count; i++) {
        rank += i > 0 && compare_figures(&g->sorted[i - 1], &g->sorted[i]) != 0;
        g->sorted[i]->figures = rank;
    }
}

/* The end of the run of nodes that begins at `from` and agrees in what is compared. */
static uint32_t run_end(const grouping *g, uint32_t from,
                        int (*compare)(const void *, const void *))
{
    uint32_t end = from + 1;
    while (end < g->candidates->count && compare(&g->sorted[from], &g->sorted[end]) == 0)
        end++;
    return end;
}

static void find_kinds(grouping *g)
{
    uint32_t kind = 0, count = g->candidates->count;
    qsort(g->sorted, count, sizeof *g->sorted, compare_heights);
    for (uint32_t from = 0, end; from < count; from = end) {
        end = run_end(g, from, compare_heights);
        for (uint32_t i = from; i < end; i++) {
            const node *n = g->sorted[i];
            qsort(&g->kinds[n->first_inside], n->inside_count, sizeof *g->kinds, compare_numbers);
        }
        qsort(&g->sorted[from], end - from, sizeof *g->sorted, compare_kinds);
        for (uint32_t i = from; i < end; i++) {
            node *n = g->sorted[i];
            kind += i > from && compare_kinds(&g->sorted[i - 1], &g->sorted[i]) != 0;
            n->kind = kind;
            if (n->candidate->around != MS_NO_CANDIDATE) {
                node *around = &g->nodes[n->candidate->around];
                g->kinds[around->first_inside + around->inside_count++] = kind;
            }
        }
        kind++;
    }
}

static void find_classes(grouping *g, ms_module_groups *groups)
{
    uint32_t count = g->candidates->count;
    qsort(g->sorted, count, sizeof *g->sorted, compare_depths);
    for (uint32_t from = 0, end; from < count; from = end) {
        end = run_end(g, from, compare_depths);
        for (uint32_t i = from; i < end; i++) {
            uint32_t around = g->sorted[i]->candidate->around;
            g->sorted[i]->class_around =
                around == MS_NO_CANDIDATE ? MS_NO_CANDIDATE : g->nodes[around].group;
        }
        qsort(&g->sorted[from], end - from, sizeof *g->sorted, compare_classes);
        for (uint32_t i = from; i < end; i++) {
            node *n = g->sorted[i];
            if (i == from || compare_classes(&g->sorted[i - 1], &g->sorted[i]) != 0)
                groups->items[groups->count++] = (ms_module_group){.around = n->class_around,
                                                                   .stage = n->stage,
                                                                   .figures = n->figures,
                                                                   .holds_any = n->height > 0};
            n->group = groups->count - 1;
        }
    }
}

static void list_members(const grouping *g, ms_module_groups *groups)
{
    uint32_t first = 0;
    for (uint32_t i = 0; i < g->candidates->count; i++)
        groups->items[g->nodes[i].group].count++;
    for (uint32_t i = 0; i < groups->count; i++) {
        groups->items[i].first = first;
        first += groups->items[i].count;
        groups->items[i].count = 0;
    }
    for (uint32_t i = 0; i < g->candidates->count; i++) {
        ms_module_group *group = &groups->items[g->nodes[i].group];
        group->candidate = group->count ? group->candidate : g->nodes[i].candidate;
        groups->members[group->first + group->count++] = i;
    }
}

ms_status ms_module_groups_find(ms_arena *arena, const ms_candidates *candidates,
                                const bool *is_used, ms_module_groups *groups)
{
    uint32_t count = candidates->count;
    grouping g = {.candidates = candidates};
    *groups = (ms_module_groups){.count = 0};
    groups->items = ms_arena_array(arena, ms_module_group, count);
    groups->members = ms_arena_array(arena, uint32_t, count);
    g.nodes = ms_arena_array(arena, node, count);
    g.sorted = ms_arena_array(arena, node *, count);
    g.kinds = ms_arena_array(arena, uint32_t, count);
    if (!groups->items || !groups->members || !g.nodes || !g.sorted || !g.kinds)
        return MS_ERR_NOMEM;
    prepare(&g, is_used);
    find_kinds(&g);
    find_classes(&g, groups);
    list_members(&g, groups);
    return MS_OK;
}
