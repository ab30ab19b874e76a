/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A plan for figures in a file, for people and as JSON.
 */
#include <inttypes.h>
#include <string.h>

#include "decide/plan/modules/candidates.h"
#include "base/text/size.h"
#include "base/json/write.h"
#include "decide/plan/file_plan.h"
#include "report/kit/tree/tree_writers.h"
#include "report/kit/writer_list.h"

static const char *const ending_texts[] = {
    [MS_PLAN_OPTIMAL] = "proven",
    [MS_PLAN_INFEASIBLE] = "",
    [MS_PLAN_LIMIT] = "not closed", /* see ending_text */
    [MS_PLAN_STOPPED] = "stopped",
};

/* ---- JSON ---- */

static void write_operators_json(const ms_file_plan *plan, ms_json_writer *w)
{
    ms_json_array_inline(w, "save");
    for (uint32_t i = 0; plan->operators.save && i < plan->operator_task.count; i++)
        ms_json_uint(w, NULL, plan->operators.save[i]);
    ms_json_close(w);
}

static void write_figures(const ms_file_plan *plan, ms_json_writer *w)
{
    const ms_checkpoint_plan *p = &plan->checkpoints;
    if (p->has_plan) {
        ms_json_double(w, "recompute_ms", p->recompute_ms, 6);
        ms_json_double(w, "bound_ms", p->bound_ms, 6);
        ms_json_double(w, "gap", p->gap, 6);
        ms_json_uint(w, "peak_bytes", p->peak_bytes);
    } else {
        ms_json_null(w, "recompute_ms");
        ms_json_null(w, "bound_ms");
        ms_json_null(w, "gap");
        ms_json_null(w, "peak_bytes");
        ms_json_uint(w, "smallest_peak_bytes", p->least_bytes);
    }
}

static void write_checkpoints_json(const ms_file_plan *plan, ms_json_writer *w)
{
    const ms_checkpoint_plan *p = &plan->checkpoints;
    ms_json_string(w, "status", ms_plan_outcome_names[p->outcome]);
    ms_json_object(w, "decisions");
    for (uint32_t i = 0; i < plan->graph.count; i++)
        if (p->parts[i] > 0)
            ms_json_double(w, plan->graph.modules[i].fqn, (double)p->parts[i] / MS_PARTS, 6);
    ms_json_close(w);
    write_figures(plan, w);
    ms_json_double(w, "solve_ms", plan->solve_ms, 3);
}

static void write_shards_json(const ms_file_plan *plan, ms_json_writer *w)
{
    const ms_shard_plan *p = &plan->shards;
    bool is_proven = p->outcome == MS_PLAN_OPTIMAL;
    ms_json_string(w, "status", ms_plan_outcome_names[p->outcome]);
    ms_json_array(w, "units");
    for (uint32_t i = 0; i < plan->graph.count; i++)
        if (p->units[i])
            ms_json_string(w, NULL, plan->graph.modules[i].fqn);
    ms_json_close(w);
    if (p->units[0]) {
        ms_json_double(w, "exposed_ms", p->exposed_ms, 6);
        ms_json_double(w, "bound_ms", is_proven ? p->exposed_ms : 0, 6);
        ms_json_double(w, "gap", !is_proven && p->exposed_ms > 0, 6);
        ms_json_uint(w, "peak_bytes", p->peak_bytes);
    } else {
        ms_json_null(w, "exposed_ms");
        ms_json_null(w, "bound_ms");
        ms_json_null(w, "gap");
        ms_json_null(w, "peak_bytes");
    }
    ms_json_double(w, "solve_ms", plan->solve_ms, 3);
}

bool ms_file_plan_json(FILE *out, const ms_file_plan *plan)
{
    ms_json_writer w = {.out = out};
    ms_json_object(&w, NULL);
    if (plan->kind == MS_PLAN_OPERATORS)
        write_operators_json(plan, &w);
    else if (plan->kind == MS_PLAN_SHARDS)
        write_shards_json(plan, &w);
    else
        write_checkpoints_json(plan, &w);
    ms_json_close(&w);
    ms_json_writer_end(&w);
    return true;
}

/* ---- for people ---- */

static const char *size_text(uint64_t bytes, char *text)
{
    return ms_size_format(bytes, text, MS_SIZE_TEXT_BYTES);
}

/* What is found: a sentence at the margin. */
static void answer(ms_tree *tree, ms_fit_verdict tone, const char *text)
{
    ms_tree_line(tree, MS_ON_CONSOLE, text);
    tree->verdict = text;
    tree->tone = tone;
}

static void add_ms(ms_tree *tree, ms_tree_table *table, double ms)
{
    ms_tree_cell(tree, table, ms_cell_even(ms, 3, " ms"));
}

/* A table under a heading that the console does without. */
static ms_tree_table *begin_table(ms_tree *tree, const char *title, const char *caption,
                                  const ms_tree_column *columns, uint32_t count)
{
    ms_tree_gap(tree);
    ms_tree_section(tree, MS_OFF_CONSOLE, "plan", title, "");
    return ms_tree_begin_table(tree, MS_ON_ALL, caption, columns, count);
}

static void add_operators(const ms_file_plan *plan, ms_tree *tree)
{
    static const ms_tree_column columns[] = {
        {"", .width = 4, .is_figure = true, .wide_head = "#"},
        {"PLAN", .before = 2, .width = 9, .wide_head = "plan"},
        {"MEMORY", .before = 1, .width = 12, .is_figure = true, .wide_head = "memory"},
        {"TIME", .before = 1, .width = 12, .is_figure = true, .wide_head = "time"},
        {"OPERATOR", .before = 2, .wide_head = "operator"}};
    const ms_operator_plan *p = &plan->operators;
    char saved[MS_SIZE_TEXT_BYTES], budget[MS_SIZE_TEXT_BYTES];
    if (!p->save) {
        tree->verdict = "No set found.";
        return;
    }
    answer(tree, MS_VERDICT_FITS,
           ms_tree_text(tree, "Fits: %s saved of %s allowed; %.3f of %.3f ms recomputed.",
                        size_text(p->saved_bytes, saved), size_text(p->budget_bytes, budget),
                        p->recompute_ms, p->total_ms));
    ms_tree_table *table = begin_table(tree, "Operators", "What is saved, and what is recomputed",
                                       columns, sizeof columns / sizeof columns[0]);
    for (uint32_t i = 0; i < plan->operator_task.count; i++) {
        const ms_operator *o = &plan->operator_task.operators[i];
        ms_tree_cell(tree, table, ms_cell_count(i));
        ms_tree_cell(tree, table, ms_cell_text(p->save[i] ? "save" : "recompute"));
        ms_tree_cell(tree, table, ms_cell_bytes(o->memory_bytes));
        add_ms(tree, table, o->runtime_ms);
        ms_tree_cell(tree, table, ms_cell_text(o->name));
    }
}

static void add_decisions(const ms_file_plan *plan, ms_tree *tree)
{
    static const ms_tree_column columns[] = {
        {"DISCARD", .width = 9, .is_figure = true, .wide_head = "discarded"},
        {"FREED", .before = 1, .width = 12, .is_figure = true, .wide_head = "freed"},
        {"RECOMPUTE", .before = 1, .width = 12, .is_figure = true, .wide_head = "recomputed"},
        {"CHECKPOINTED MODULE", .before = 2, .wide_head = "checkpointed module"}};
    ms_tree_table *table = begin_table(tree, "Checkpoints", "The modules that are checkpointed",
                                       columns, sizeof columns / sizeof columns[0]);
    for (uint32_t i = 0; i < plan->graph.count; i++) {
        const ms_module *m = &plan->graph.modules[i];
        uint32_t parts = plan->checkpoints.parts[i];
        if (parts == 0)
            continue;
        ms_tree_cell(tree, table, ms_cell_even(100.0 * parts / MS_PARTS, 2, " %"));
        ms_tree_cell(tree, table, ms_cell_bytes(ms_checkpoint_freed_bytes(m, parts)));
        add_ms(tree, table, ms_checkpoint_ms(m, parts));
        ms_tree_cell(tree, table, ms_cell_text(m->fqn));
    }
}

/* A search ends when its time is over, or when it has done all the work that it may. */
static const char *ending_text(const ms_file_plan *plan)
{
    ms_plan_outcome outcome = plan->checkpoints.outcome;
    bool is_late = plan->solve_ms >= 1000 * ms_plan_time_limit_s(plan->settings);
    return outcome == MS_PLAN_LIMIT && is_late ? "stopped by the time limit"
                                               : ending_texts[outcome];
}

static void add_checkpoints(const ms_file_plan *plan, ms_tree *tree)
{
    const ms_checkpoint_plan *p = &plan->checkpoints;
    char peak[MS_SIZE_TEXT_BYTES], budget[MS_SIZE_TEXT_BYTES];
    size_text(plan->settings->budget_bytes, budget);
    if (!p->has_plan) {
        answer(tree, MS_VERDICT_NO, ms_tree_text(tree, "Does not fit %s.", budget));
        return;
    }
    answer(tree, MS_VERDICT_FITS,
           ms_tree_text(tree, "Fits: peak %s of %s, in the backward of %s.",
                        size_text(p->peak_bytes, peak), budget,
                        plan->graph.modules[p->peak_module].fqn));
    if (!(p->recompute_ms > 0)) {
        ms_tree_line(tree, MS_ON_ALL, "Nothing needs to be recomputed.");
        return;
    }
    ms_tree_line(tree, MS_ON_ALL,
                 ms_tree_text(tree,
                              "Recomputes %.3f ms; at least %.3f ms are needed (gap %.3f %%, %s).",
                              p->recompute_ms, p->bound_ms, 100 * p->gap, ending_text(plan)));
    add_decisions(plan, tree);
}

/* The root keeps what is in no other unit. */
static uint64_t unit_bytes(const ms_file_plan *plan, uint32_t unit)
{
    uint64_t bytes = plan->graph.modules[unit].param_bytes;
    for (uint32_t i = 1; unit == 0 && i < plan->graph.count; i++)
        if (plan->shards.units[i]) {
            uint64_t inside = plan->graph.modules[i].param_bytes;
            bytes = bytes > inside ? bytes - inside : 0;
        }
    return bytes;
}

static void add_shards(const ms_file_plan *plan, ms_tree *tree)
{
    static const ms_tree_column columns[] = {
        {"PARAMETERS", .width = 12, .is_figure = true, .wide_head = "parameters"},
        {"UNIT", .before = 2, .wide_head = "unit"}};
    const ms_shard_plan *p = &plan->shards;
    char peak[MS_SIZE_TEXT_BYTES], budget[MS_SIZE_TEXT_BYTES];
    size_text(plan->settings->budget_bytes, budget);
    if (!p->units[0]) {
        bool is_proven = p->outcome == MS_PLAN_INFEASIBLE;
        answer(
            tree, MS_VERDICT_NO,
            ms_tree_text(tree, "%s %s.", is_proven ? "Does not fit" : "No set found for", budget));
        return;
    }
    answer(tree, MS_VERDICT_FITS,
           ms_tree_text(tree, "Fits: peak %s of %s; %.3f ms of communication are exposed (%s).",
                        size_text(p->peak_bytes, peak), budget, p->exposed_ms,
                        p->outcome == MS_PLAN_OPTIMAL ? "optimal" : "not proven to be optimal"));
    ms_tree_table *table = begin_table(tree, "Units", "The modules that are units", columns,
                                       sizeof columns / sizeof columns[0]);
    for (uint32_t i = 0; i < plan->graph.count; i++)
        if (p->units[i]) {
            ms_tree_cell(tree, table, ms_cell_bytes(unit_bytes(plan, i)));
            ms_tree_cell(tree, table, ms_cell_text(plan->graph.modules[i].fqn));
        }
}

static ms_tree build(const ms_file_plan *plan)
{
    static const char *const titles[] = {
        [MS_PLAN_OPERATORS] = "A plan for the operators of a file",
        [MS_PLAN_CHECKPOINTS] = "A plan of checkpoints for the modules of a file",
        [MS_PLAN_SHARDS] = "A plan of FSDP's units for the modules of a file"};
    ms_tree tree = ms_tree_begin(NULL);
    ms_tree_head(&tree, "memscope", titles[plan->kind], NULL, MS_VERDICT_NO);
    tree.made_from = "from the figures of the file alone";
    if (plan->kind == MS_PLAN_OPERATORS)
        add_operators(plan, &tree);
    else if (plan->kind == MS_PLAN_SHARDS)
        add_shards(plan, &tree);
    else
        add_checkpoints(plan, &tree);
    return tree;
}

MS_TREE_WRITERS(ms_file_plan, ms_file_plan, build, v->style)
