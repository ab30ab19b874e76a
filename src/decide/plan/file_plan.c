/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "decide/plan/file_plan.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/deadline.h"
#include "base/text/size.h"
#include "base/json/read.h"

static ms_status add_note(ms_file_plan *plan, char *note, ms_error *err)
{
    plan->note = note;
    return note ? MS_OK : ms_fail(err, MS_ERR_NOMEM, "out of memory for a note");
}

/* ---- lists of modules ---- */

/* Marks the modules that a list with commas names. */
static ms_status mark_units(const ms_file_plan *plan, const char *option, const char *list,
                            bool *marks, ms_error *err)
{
    char *names = ms_arena_strdup(plan->arena, list);
    if (!names)
        return ms_fail(err, MS_ERR_NOMEM, "out of memory");
    for (char *rest = names, *name; (name = strtok_r(rest, ",", &rest)) != NULL;) {
        uint32_t index = ms_graph_find(&plan->graph, name);
        if (index == MS_GRAPH_NO_MODULE)
            return ms_fail(err, MS_ERR_USAGE, "%s: no module \"%.100s\"", option, name);
        marks[index] = true;
    }
    return MS_OK;
}

/* A unit of FSDP must not lie inside of what is checkpointed. Its parameters come three times: in
 * use, gathered ahead, and as gradients. */
static void respect_fsdp(ms_file_plan *plan, const bool *units, bool *may)
{
    const ms_graph *g = &plan->graph;
    uint64_t most = 0, rest = g->modules[0].param_bytes;
    for (uint32_t i = 1; i < g->count; i++) {
        if (!units[i])
            continue;
        uint64_t bytes = g->modules[i].param_bytes;
        most = bytes > most ? bytes : most;
        rest = rest > bytes ? rest - bytes : 0;
        for (uint32_t a = g->modules[i].parent; a != MS_GRAPH_NO_MODULE; a = g->modules[a].parent)
            may[a] = false;
    }
    plan->checkpoint_task.reserve_bytes = 3 * (most > rest ? most : rest);
}

static ms_status choose_units(ms_file_plan *plan, ms_error *err)
{
    const ms_plan_settings *s = plan->settings;
    uint32_t count = plan->graph.count;
    bool *may = ms_arena_array(plan->arena, bool, count);
    bool *units = ms_arena_array(plan->arena, bool, count);
    if (!may || !units)
        return ms_fail(err, MS_ERR_NOMEM, "out of memory");
    memset(may, s->ac_units == NULL, count);
    ms_status status = MS_OK;
    if (s->ac_units)
        status = mark_units(plan, "ac-units", s->ac_units, may, err);
    if (status == MS_OK && s->fsdp_units) {
        status = mark_units(plan, "fsdp-units", s->fsdp_units, units, err);
        if (status == MS_OK)
            respect_fsdp(plan, units, may);
    }
    plan->checkpoint_task.may = may;
    return status;
}

/* ---- the two kinds ---- */

static ms_status stopped(ms_error *err)
{
    return ms_fail(err, MS_ERR_STOPPED, "stopped; this is the best plan found so far");
}

static ms_status no_plan(const ms_file_plan *plan, ms_error *err)
{
    const ms_checkpoint_plan *p = &plan->checkpoints;
    char budget[MS_SIZE_TEXT_BYTES], least[MS_SIZE_TEXT_BYTES];
    ms_size_format(plan->settings->budget_bytes, budget, sizeof budget);
    ms_size_format(p->least_bytes, least, sizeof least);
    return ms_fail(err, MS_ERR_INFEASIBLE,
                   "no plan fits in %s: the smallest peak is %s, in the backward of %.80s", budget,
                   least, plan->graph.modules[p->peak_module].fqn);
}

static ms_status plan_graph(ms_file_plan *plan, ms_json_value root, ms_error *err)
{
    const ms_plan_settings *s = plan->settings;
    ms_status status =
        ms_graph_read(plan->arena, root, MS_GRAPH_FOR_CHECKPOINTS, &plan->graph, err);
    if (status == MS_OK && plan->graph.raised_count > 0)
        status =
            add_note(plan,
                     ms_arena_printf(plan->arena,
                                     "sac_memory is below act_fw_per_module in %u modules (first "
                                     "in %s); act_fw_per_module is used",
                                     (unsigned)plan->graph.raised_count, plan->graph.first_raised),
                     err);
    plan->checkpoint_task = (ms_checkpoint_task){
        .graph = &plan->graph,
        .budget_bytes = s->budget_bytes,
        .world_size = (uint32_t)s->world_size,
        .gap = s->gap,
        .time_limit_s = ms_plan_time_limit_s(s),
        .stop = plan->stop,
    };
    if (status == MS_OK)
        status = choose_units(plan, err);
    if (status == MS_OK)
        status = ms_checkpoints_plan(plan->arena, &plan->checkpoint_task, &plan->checkpoints, err);
    if (status != MS_OK)
        return status;
    plan->kind = MS_PLAN_CHECKPOINTS;
    if (plan->checkpoints.outcome == MS_PLAN_STOPPED)
        return stopped(err);
    return plan->checkpoints.has_plan ? MS_OK : no_plan(plan, err);
}

static ms_status plan_shards(ms_file_plan *plan, ms_json_value root, ms_error *err)
{
    const ms_plan_settings *s = plan->settings;
    ms_status status = ms_graph_read(plan->arena, root, MS_GRAPH_FOR_SHARDS, &plan->graph, err);
    bool *fixed = NULL;
    if (status == MS_OK && s->fsdp_units) {
        fixed = ms_arena_array(plan->arena, bool, plan->graph.count);
        if (!fixed)
            return ms_fail(err, MS_ERR_NOMEM, "out of memory");
        status = mark_units(plan, "fsdp-units", s->fsdp_units, fixed, err);
    }
    if (status != MS_OK)
        return status;
    ms_shard_task task = {
        .graph = &plan->graph,
        .fixed = fixed,
        .budget_bytes = s->budget_bytes,
        .world_size = (uint32_t)s->world_size,
        .latency_ms = s->latency_ms,
        .time_limit_s = ms_plan_time_limit_s(s),
        .stop = plan->stop,
        .bytes_per_ms = (double)s->bandwidth_bytes / 1000,
    };
    if ((status = ms_shards_plan(plan->arena, &task, &plan->shards, err)) != MS_OK)
        return status;
    plan->kind = MS_PLAN_SHARDS;
    if (plan->shards.units[0])
        return plan->shards.outcome == MS_PLAN_STOPPED ? stopped(err) : MS_OK;
    if (plan->shards.outcome == MS_PLAN_STOPPED)
        return ms_fail(err, MS_ERR_STOPPED, "stopped before a set of FSDP units was found");
    char budget[MS_SIZE_TEXT_BYTES];
    return ms_fail(err, MS_ERR_INFEASIBLE, "no %s of FSDP units fits in %s",
                   plan->shards.outcome == MS_PLAN_LIMIT ? "set that was tried" : "set",
                   ms_size_format(s->budget_bytes, budget, sizeof budget));
}

static ms_status plan_operators(ms_file_plan *plan, ms_json_value root, ms_error *err)
{
    ms_status status = ms_operators_read(plan->arena, root, &plan->operator_task, err);
    if (status == MS_OK)
        status = ms_operators_plan(plan->arena, &plan->operator_task, plan->settings->memory_budget,
                                   plan->stop, &plan->operators, err);
    if (status == MS_OK || status == MS_ERR_INFEASIBLE)
        plan->kind = MS_PLAN_OPERATORS;
    if (status != MS_OK || plan->operators.is_proven)
        return status;
    if (ms_stop_asked(plan->stop))
        status = stopped(err);
    else
        status = add_note(
            plan, ms_arena_strdup(plan->arena, "this plan is not proven to be optimal"), err);
    return status;
}

/* ---- solving ---- */

static ms_status solve_text(ms_file_plan *plan, const ms_json_source *source, size_t most_bytes,
                            ms_error *err)
{
    ms_json *document = NULL;
    ms_status status = ms_json_parse_within(source, most_bytes, &document, err);
    if (status == MS_OK) {
        double start = ms_now_ms();
        ms_json_value root = ms_json_root(document);
        if (!plan->settings->graph)
            status = plan_operators(plan, root, err);
        else
            status =
                plan->settings->fsdp ? plan_shards(plan, root, err) : plan_graph(plan, root, err);
        plan->solve_ms = ms_now_ms() - start;
    }
    ms_json_free(document);
    return status;
}

ms_status ms_file_plan_solve(ms_file_plan *plan, ms_error *err)
{
    const ms_plan_settings *s = plan->settings;
    plan->kind = MS_PLAN_NOTHING;
    plan->note = NULL;
    ms_json_source source;
    char *text;
    size_t most_bytes = s->graph ? MS_JSON_MAX_LARGE_BYTES : MS_JSON_MAX_BYTES;
    ms_status status =
        ms_json_read_within(ms_arena_inputs(plan->arena), s->graph ? s->graph : s->ops, most_bytes,
                            &source, &text, err);
    if (status == MS_OK)
        status = solve_text(plan, &source, most_bytes, err);
    free(text);
    return status;
}
