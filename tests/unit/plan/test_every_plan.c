/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Small random trees of modules: the planner against every plan there is.
 *
 * All figures are multiples of one unit, and so are the corners of the curves. For a fixed set of
 * checkpointed modules the rest is a linear problem over sums of the first ones, which has its
 * optimum in whole units; so trying whole units only misses nothing.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "decide/plan/modules/checkpoints.h"
#include "decide/plan/modules/candidates.h"
#include "unit/support.h"

enum { MOST_MODULES = 10, MOST_CHOICES = 6, UNIT = 1000000, BUDGETS = 8, TREES = 250 };

typedef struct tree {
    ms_module modules[MOST_MODULES];
    ms_segment segments[MOST_MODULES][2];
    bool may[MOST_MODULES];
    uint32_t order[MOST_MODULES];
    ms_graph graph;
    ms_checkpoint_task task;
    uint64_t random;
} tree;

typedef struct enumeration {
    const tree *tree;
    uint32_t parts[MOST_MODULES];
    double least_ms;
    uint64_t least_peak;
} enumeration;

static uint32_t pick(tree *t, uint32_t below)
{
    t->random = t->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(t->random >> 33) % below;
}

/* ---- trees ---- */

/* Each module lies in the one before, or in one around that. */
static void grow(tree *t)
{
    uint32_t count = 3 + pick(t, MOST_MODULES - 2), left = 0, open = 0;
    t->graph = (ms_graph){.modules = t->modules, .count = count};
    t->modules[0].parent = MS_GRAPH_NO_MODULE;
    for (uint32_t i = 1; i <= count; i++) {
        uint32_t parent = i < count ? open : MS_GRAPH_NO_MODULE;
        for (uint32_t up = pick(t, 3); i < count && up > 0 && parent != 0; up--)
            parent = t->modules[parent].parent;
        for (; open != parent; open = t->modules[open].parent) {
            t->modules[open].after = i;
            t->modules[open].left = left;
            t->order[left++] = open;
        }
        if (i < count)
            t->modules[i].parent = open;
        open = i;
    }
}

/* One of three kinds, so that equal modules are common. */
static void set_figures(tree *t, uint32_t index, uint32_t kind)
{
    static const uint32_t units[] = {4, 5, 4}, unkept[] = {0, 1, 1}, corner[] = {2, 3, 3};
    static const double at_first[] = {0, 0.1, 0.25}, slope[] = {0.2, 0.5, 0.1}, steep[] = {3, 1, 2};
    double first = (double)unkept[kind] / units[kind], middle = (double)corner[kind] / units[kind];
    ms_module *m = &t->modules[index];
    m->made_bytes = (uint64_t)units[kind] * UNIT;
    m->saved_bytes = m->made_bytes - (uint64_t)unkept[kind] * UNIT;
    m->operators_ms = 1 + kind;
    m->segments = t->segments[index];
    m->segment_count = 2;
    t->segments[index][0] = (ms_segment){slope[kind], at_first[kind] - slope[kind] * first};
    double there = t->segments[index][0].slope * middle + t->segments[index][0].intercept;
    t->segments[index][1] = (ms_segment){steep[kind], there - steep[kind] * middle};
}

static void make_tree(tree *t, uint64_t seed)
{
    *t = (tree){.random = seed * UINT64_C(0x9e3779b97f4a7c15) + 1};
    uint32_t choices = 0, total = 0;
    grow(t);
    for (uint32_t i = 0; i < t->graph.count; i++) {
        ms_module *m = &t->modules[t->order[i]];
        bool may = choices < MOST_CHOICES && pick(t, 4) > 0;
        set_figures(t, t->order[i], pick(t, 3));
        t->may[t->order[i]] = may;
        choices += may;
        total += pick(t, 4);
        m->act_total_bytes = (uint64_t)total * UNIT;
        m->act_grad_bytes = (uint64_t)pick(t, 5) * UNIT;
    }
    t->task = (ms_checkpoint_task){
        .graph = &t->graph, .may = t->may, .world_size = 1, .time_limit_s = 600};
}

/* ---- every plan ---- */

static bool is_nested(const enumeration *e, uint32_t index)
{
    for (uint32_t i = index + 1; i < e->tree->modules[index].after; i++)
        if (e->parts[i] > 0)
            return true;
    return false;
}

static double ms_of(const tree *t, const uint32_t *parts)
{
    double ms = 0;
    for (uint32_t i = 0; i < t->graph.count; i++)
        ms += ms_checkpoint_ms(&t->modules[i], parts[i]);
    return ms;
}

static void try_plan(enumeration *e)
{
    uint32_t module;
    double ms = ms_of(e->tree, e->parts);
    uint64_t peak = ms_checkpoint_peak(&e->tree->task, e->tree->order, e->parts, &module);
    if (peak <= e->tree->task.budget_bytes && ms < e->least_ms)
        e->least_ms = ms;
    e->least_peak = peak < e->least_peak ? peak : e->least_peak;
}

/* Modules inside come first in this order. */
static void try_all(enumeration *e, uint32_t position)
{
    if (position == e->tree->graph.count) {
        try_plan(e);
        return;
    }
    uint32_t index = e->tree->order[position];
    const ms_module *m = &e->tree->modules[index];
    uint32_t units = (uint32_t)(m->made_bytes / UNIT);
    try_all(e, position + 1);
    for (uint32_t u = 1; e->tree->may[index] && !is_nested(e, index) && u <= units; u++) {
        e->parts[index] = u * (MS_PARTS / units);
        if (ms_checkpoint_freed_bytes(m, e->parts[index]) > 0)
            try_all(e, position + 1);
    }
    e->parts[index] = 0;
}

/* ---- comparing ---- */

static void compare(tree *t, double gap)
{
    enumeration e = {.tree = t, .least_ms = INFINITY, .least_peak = UINT64_MAX};
    ms_checkpoint_plan plan = {0};
    ms_error err = {0};
    uint32_t module;
    ms_arena *arena = ms_arena_create(0);
    assert_non_null(arena);
    t->task.gap = gap;
    try_all(&e, 0);
    assert_int_equal(ms_checkpoints_plan(arena, &t->task, &plan, &err), MS_OK);
    if (isinf(e.least_ms)) {
        assert_int_equal(plan.outcome, MS_PLAN_INFEASIBLE);
        assert_int_equal(plan.least_bytes, e.least_peak);
    } else {
        assert_int_equal(plan.outcome, MS_PLAN_OPTIMAL);
        uint64_t peak = ms_checkpoint_peak(&t->task, t->order, plan.parts, &module);
        assert_int_equal(plan.peak_bytes, peak);
        assert_true(peak <= t->task.budget_bytes);
        assert_true(fabs(plan.recompute_ms - ms_of(t, plan.parts)) < 1e-9);
        if (plan.recompute_ms > e.least_ms * (1 + gap) + 1e-5 ||
            plan.bound_ms > e.least_ms * (1 + 1e-6))
            fail_msg("%.9f ms, at least %.9f; the least is %.9f ms", plan.recompute_ms,
                     plan.bound_ms, e.least_ms);
    }
    ms_arena_free(arena);
}

typedef struct gap_case {
    const char *label;
    double gap;
} gap_case;

/* From the peak as it is down to what cannot fit. */
static void check_trees(void **state)
{
    const gap_case *c = *state;
    tree t;
    for (uint64_t seed = 1; seed <= TREES; seed++) {
        uint32_t module, none[MOST_MODULES] = {0};
        make_tree(&t, seed);
        uint64_t peak = ms_checkpoint_peak(&t.task, t.order, none, &module) / UNIT;
        for (uint64_t i = 1; i <= BUDGETS; i++) {
            t.task.budget_bytes = (peak * (BUDGETS - i) / BUDGETS + 1) * UNIT;
            compare(&t, c->gap);
        }
    }
}

static const gap_case gaps[] = {{"to the optimum", 0}, {"to 0.1 %", 0.001}};

int main(void)
{
    return run_rows("every plan", check_trees, gaps);
}
