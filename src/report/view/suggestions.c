/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/view/suggestions.h"

#include <inttypes.h>
#include <math.h>

#include "report/view/fit_words.h"

static const char *const cost_texts[] = {
    [MS_COST_FREE] = "the same result in the same time",
    [MS_COST_TIME] = "the same result, at a cost in time",
    [MS_COST_ROUNDING] = "the same training, rounded differently",
    [MS_COST_RESULT] = "another training",
    [MS_COST_DEVICE] = "another device",
};

const char *ms_cost_text(ms_advice_cost cost)
{
    return cost_texts[cost];
}

const char *ms_added_time(double added_time, char text[MS_FIXED_TEXT])
{
    char number[MS_FIXED_TEXT];
    if (isnan(added_time))
        return ms_fixed(added_time, 1, text);
    ms_fixed(100 * added_time, 1, number);
    snprintf(text, MS_FIXED_TEXT, "%s%.20s %%", *number == '-' ? "" : "+", number);
    return text;
}

/* ---- where ---- */

static bool are_there(const ms_view *v)
{
    return v->advice && v->advice->suggestions.count > 0;
}

bool ms_suggestions_lead(const ms_view *view)
{
    return are_there(view) && view->advice->verdict != MS_VERDICT_FITS;
}

bool ms_suggestions_follow(const ms_view *view)
{
    return are_there(view) && view->advice->verdict == MS_VERDICT_FITS;
}

static bool any_helps(const ms_view *v)
{
    for (uint32_t i = 0; i < v->advice->suggestions.count; i++)
        if (ms_suggestion_helps(&v->advice->suggestions.items[i], v->advice->verdict))
            return true;
    return false;
}

const char *ms_suggestions_title(const ms_view *view)
{
    if (!ms_suggestions_lead(view) || !any_helps(view))
        return "What would help most";
    return view->advice->verdict == MS_VERDICT_NO ? "What makes it fit" : "What makes it safe";
}

/* ---- console ---- */

void ms_suggestion_tree(ms_tree *tree, const ms_suggestion_lines *l, ms_advice_cost before)
{
    char gib[MS_GIB_TEXT], time[MS_FIXED_TEXT];
    if (l->cost != before) {
        ms_tree_paragraph(tree, MS_ON_CONSOLE, ms_cost_text(l->cost));
        ms_tree_dim(tree);
    }
    ms_tree_item(tree,
                 ms_tree_text(tree, "  %8s  %-5s %9s ", ms_gib(l->device_bytes, gib),
                              ms_fit_cell(l->reason), ms_added_time(l->added_time, time)),
                 l->title);
    if (l->changes && *l->changes)
        ms_tree_item(tree, "     ", l->changes);
    ms_tree_item(tree, "     ", l->option);
}

/* "paged 8-bit AdamW + checkpoint every layer (optimizer states in 8 bits)" */
static const char *title_text(const ms_view *v, const ms_suggestion *s)
{
    const char *text =
        *s->changes ? ms_arena_printf(v->arena, "%s (%s)", s->title, s->changes) : s->title;
    return text ? text : "";
}

/* On the console a paragraph each. */
void ms_suggestions_tree(ms_tree *tree, const ms_view *view)
{
    static const ms_tree_column columns[] = {
        {.head = "change"},
        {.head = "option"},
        {.head = "then needs", .is_figure = true, .unit = "GiB"},
        {.head = "saves", .is_figure = true, .unit = "GiB"},
        {.head = "fits"},
        {.head = "time", .is_figure = true},
        {.head = "cost"}};
    ms_advice_cost before = MS_COST_COUNT;
    ms_tree_section(tree, MS_ON_ALL, "advice", ms_suggestions_title(view),
                    "GiB on the device, time of a step; each simulated");
    ms_tree_table *table =
        ms_tree_begin_table(tree, MS_OFF_CONSOLE, "Each change was simulated with all its options",
                            columns, sizeof columns / sizeof *columns);
    for (uint32_t i = 0; i < view->advice->suggestions.count; i++) {
        const ms_suggestion *s = &view->advice->suggestions.items[i];
        const ms_suggestion_lines lines = {s->title,        s->changes, s->option,    s->cost,
                                           s->device_bytes, s->told,    s->added_time};
        char time[MS_FIXED_TEXT];
        ms_tree_cell(tree, table, ms_cell_text(title_text(view, s)));
        ms_tree_cell(tree, table, ms_cell_code(s->option));
        ms_tree_cell(tree, table, ms_cell_gib(s->device_bytes));
        ms_tree_cell(tree, table,
                     ms_cell_gib(s->saved_device_bytes > 0 ? (uint64_t)s->saved_device_bytes : 0));
        ms_tree_cell(tree, table, ms_cell_verdict(ms_fit_cell(s->told)));
        ms_tree_cell(tree, table, ms_cell_text(ms_added_time(s->added_time, time)));
        ms_tree_cell(tree, table, ms_cell_text(ms_cost_text(s->cost)));
        ms_suggestion_tree(tree, &lines, before);
        before = s->cost;
    }
}

/* ---- JSON ---- */

static const ms_words cost_names = {ms_advice_cost_names, MS_COST_COUNT, 0, 0};

#define SUGGESTION(...) MS_MEMBER(ms_suggestion, __VA_ARGS__)
static const ms_member suggestion_members[] = {
    SUGGESTION("title", title),
    SUGGESTION("option", option),
    SUGGESTION("changes", count),
    SUGGESTION("cost", cost, .words = &cost_names),
    SUGGESTION("changes_result", changes, .rules = MS_OR_NULL | MS_NONE_IS_EMPTY),
    SUGGESTION("saved_device_bytes", saved_device_bytes),
    SUGGESTION("saved_peak_bytes", saved_peak_bytes),
    SUGGESTION("device_bytes", device_bytes),
    SUGGESTION("host_memory_bytes", host_bytes),
    SUGGESTION("step_time_ms", step_ms, .rules = MS_OR_NULL, .decimals = 3),
    SUGGESTION("overhead_pct", added_time, .rules = MS_OR_NULL | MS_NONE_IS_NAN, .times = 100,
               .decimals = 2),
    MS_FIT_MEMBERS(ms_suggestion, told),
};
const ms_members ms_suggestion_table = MS_MEMBERS(ms_suggestion, suggestion_members);
