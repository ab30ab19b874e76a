/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A file to plan for, as modules for either kind of plan and as operators: what is accepted has
 * figures that are figures, and a plan for a few of them says so itself.
 */
#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "fuzz/fuzz.h"
#include "decide/plan/modules/checkpoints.h"
#include "decide/plan/modules/candidates.h"
#include "decide/plan/operators/operators.h"

enum { FEW_MODULES = 6, FEW_OPERATORS = 12 };

static void check_graph(const ms_graph *g, ms_graph_use use)
{
    assert(g->count > 0 && g->count <= MS_GRAPH_MAX_MODULES);
    for (uint32_t i = 0; i < g->count; i++) {
        const ms_module *m = &g->modules[i];
        assert(m->after > i && m->after <= g->count && m->left < g->count);
        assert(i == 0 ? m->parent == MS_GRAPH_NO_MODULE : m->parent < i);
        assert(ms_graph_find(g, m->fqn) == i && m->made_bytes >= m->saved_bytes);
        assert(isfinite(m->forward_ms) && m->forward_ms >= 0);
        assert(use == MS_GRAPH_FOR_CHECKPOINTS ||
               (isfinite(m->backward_ms) && m->backward_ms >= 0));
    }
}

/* Half of what the whole model would need, with every module free to be checkpointed. */
static void plan_checkpoints(ms_arena *arena, const ms_graph *g)
{
    bool *may = ms_arena_array(arena, bool, g->count);
    ms_checkpoint_task task = {
        .graph = g, .may = may, .world_size = 1, .gap = 0.05, .time_limit_s = 0.05};
    ms_checkpoint_plan plan;
    ms_error err = {0};
    if (!may)
        return;
    for (uint32_t i = 0; i < g->count; i++)
        may[i] = true;
    task.budget_bytes = ms_checkpoint_kept_bytes(&task, 0) / 2;
    if (ms_checkpoints_plan(arena, &task, &plan, &err) != MS_OK)
        assert(err.text[0]);
    else if (plan.has_plan)
        assert(plan.peak_bytes <= task.budget_bytes && plan.recompute_ms >= 0);
}

static void read_modules(ms_arena *arena, ms_json_value root, ms_graph_use use)
{
    ms_graph graph;
    ms_error err = {0};
    if (ms_graph_read(arena, root, use, &graph, &err) != MS_OK) {
        assert(err.text[0]);
        return;
    }
    check_graph(&graph, use);
    if (use == MS_GRAPH_FOR_CHECKPOINTS && graph.count <= FEW_MODULES)
        plan_checkpoints(arena, &graph);
}

static void read_operators(ms_arena *arena, ms_json_value root)
{
    ms_operator_task task;
    ms_operator_plan plan;
    ms_error err = {0};
    ms_status status = ms_operators_read(arena, root, &task, &err);
    assert(status == MS_OK || err.text[0]);
    if (status != MS_OK || task.count > FEW_OPERATORS)
        return;
    if (ms_operators_plan(arena, &task, 0.5, NULL, &plan, &err) == MS_OK)
        assert(plan.saved_bytes <= plan.budget_bytes && plan.recompute_ms >= 0);
    else
        assert(err.text[0]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ms_json_source source = {"fuzz.json", (const char *)data, size};
    ms_json *document = NULL;
    ms_arena *arena = ms_arena_create(8 << 20);
    ms_error err = {0};
    if (arena && ms_json_parse(&source, &document, &err) == MS_OK) {
        read_modules(arena, ms_json_root(document), MS_GRAPH_FOR_CHECKPOINTS);
        read_modules(arena, ms_json_root(document), MS_GRAPH_FOR_SHARDS);
        read_operators(arena, ms_json_root(document));
    }
    ms_json_free(document);
    ms_arena_free(arena);
    return 0;
}
