/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A plan for people: the verdict first, then what to type, memory and time beside the two
 * extremes, the treatments of layers and why, the settings for a trainer, and alternatives; or a
 * curve of time against memory.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "input/config/model/model_config.h"
#include "report/kit/category_id.h"
#include "report/kit/tree/tree_writers.h"
#include "report/kit/writer_list.h"
#include "report/pictures/curves.h"
#include "report/plan/curve_svg.h"
#include "report/plan/plan_needs.h"
#include "report/plan/plan_tables.h"
#include "report/step/html_report.h"
#include "report/view/calibrated.h"
#include "report/view/fit_words.h"
#include "report/view/inputs.h"

/* ---- bars of one scale ---- */

static void add_bar(ms_tree *tree, const ms_step_figures *f, const char *label, uint64_t whole,
                    uint64_t budget, uint64_t free_bytes)
{
    ms_tree_bar *bar = ms_tree_begin_bar(tree, label, whole, budget);
    for (uint32_t c = 0; c < MS_CATEGORY_COUNT; c++)
        ms_tree_piece(tree, bar, ms_json_category((uint8_t)c), ms_category_name((ms_category)c),
                      f->category_bytes[c]);
    ms_tree_piece(tree, bar, "cached", "cached by the allocator",
                  f->reserved_bytes > f->peak_bytes ? f->reserved_bytes - f->peak_bytes : 0);
    ms_tree_piece(tree, bar, "context", "CUDA context", f->device_bytes - f->reserved_bytes);
    ms_tree_piece(tree, bar, "free", "free", free_bytes);
}

static void add_headroom(ms_tree *tree, const ms_plan_view *v)
{
    const uint64_t device = v->figures->device_bytes;
    const uint64_t rest = v->budget_bytes > device ? v->budget_bytes - device : 0;
    add_bar(tree, v->figures, v->verdict, device + rest, v->budget_bytes, rest);
}

static void add_extremes(ms_tree *tree, const ms_plan_view *v)
{
    uint64_t scale = v->budget_bytes;
    for (uint32_t i = 0; i < MS_PLAN_COLUMNS; i++)
        if (v->columns[i].figures->device_bytes > scale)
            scale = v->columns[i].figures->device_bytes;
    ms_tree_section(tree, MS_ON_PAGE, "beside", "Compared with keeping or checkpointing all", "");
    for (uint32_t i = 0; i < MS_PLAN_COLUMNS; i++) {
        const ms_plan_column *column = &v->columns[i];
        char size[MS_BYTES_TEXT];
        ms_tree_heading(tree, MS_ON_PAGE, column->label);
        add_bar(tree, column->figures,
                ms_tree_text(tree, "%s: %s of the device", column->label,
                             ms_bytes_text(column->figures->device_bytes, size)),
                scale, v->budget_bytes, 0);
    }
}

/* ---- pictures of a page ---- */

/* False: out of memory. */
static bool copy_curve(const ms_view *v, const char *name, ms_memory_curve *curve)
{
    const ms_ledger *ledger = v->ledger;
    uint32_t count = ledger->timeline.count;
    ms_curve_spot *spots = malloc(((size_t)count + 1) * sizeof *spots);
    for (uint32_t i = 0; spots && i < count; i++)
        spots[i] = (ms_curve_spot){ledger->timeline.items[i].ms, ledger->timeline.items[i].bytes};
    *curve = (ms_memory_curve){name, spots, spots ? count : 0};
    return spots != NULL;
}

/* The step as planned and with everything kept. */
static bool draw_both(FILE *out, const void *view)
{
    const ms_plan_view *v = view;
    bool is_timed = v->analysis->ledger->schedule.is_timed;
    ms_two_curves both = {
        .x_title = is_timed ? "predicted time of the step (ms)" : "events of the step, in 1,000",
        .label = "Memory over the step as planned and with everything kept; the bars below "
                 "compare their peaks."};
    bool ok = copy_curve(v->analysis, "as planned", &both.curves[0]) &&
              copy_curve(v->kept, "everything kept", &both.curves[1]);
    if (ok)
        ms_two_curves_html(out, &both);
    for (int i = 0; i < 2; i++)
        free(both.curves[i].spots);
    return ok;
}

static bool draw_treatments(FILE *out, const void *view)
{
    const ms_plan_view *v = view;
    return ms_html_treatments(out, &v->figures->treatments, v->model->num_layers, v->arena);
}

static bool draw_curve(FILE *out, const void *view)
{
    const ms_plan_view *v = view;
    const ms_curve_point *points = v->curve->points.items;
    char ms[MS_FIXED_TEXT], gib[MS_GIB_TEXT];
    fprintf(out,
            "<figure>\n<div class=\"wide\"><svg id=\"curve-svg\" class=\"picture\" viewBox=\"0 %d "
            "%d %d\" role=\"img\" aria-label=\"Time of a step against the budget",
            MS_CURVE_HEAD, MS_CURVE_WIDTH, MS_CURVE_HEIGHT - MS_CURVE_HEAD);
    for (uint32_t i = 0, last = v->curve->points.count - 1; i < 2; i++) {
        const ms_curve_point *p = &points[i ? last : 0];
        fprintf(out, "%s %s ms with %s GiB", i ? " to" : ": from",
                ms_fixed(p->figures.time.step_ms, 1, ms), ms_gib(p->budget_bytes, gib));
    }
    fputs(". The table below lists the points.\">\n" MS_DRAW_UNREAD, out);
    ms_curve_picture(out, v);
    fputs("</g></svg></div>\n</figure>\n", out);
    return true;
}

/* ---- the plan ---- */

static void add_answer(ms_tree *tree, const ms_plan_view *v)
{
    const bool has_why = *v->why != '\0';
    ms_tree_line(tree, MS_ON_CONSOLE, v->title);
    ms_tree_answer(tree, v->curve ? MS_TONE_GOOD : ms_page_verdict_tone(v->tone), v->verdict);
    ms_tree_note(tree, MS_ON_ALL, ms_fit_why_label, v->why);
    if (!has_why && v->analysis)
        ms_tree_note(tree, MS_ON_PAGE, ms_fit_why_label, v->analysis->peak_why);
    ms_calibrated_notes_tree(tree, v->run);
    if (v->curve)
        return;
    add_headroom(tree, v);
    ms_tree_note(tree, MS_ON_ALL, "", v->proof);
    ms_tree_dim(tree);
    if (*v->margin) {
        ms_tree_note(tree, MS_ON_ALL, "", v->margin);
        ms_tree_dim(tree);
    }
    ms_tree_note(tree, MS_ON_ALL, "", v->evaluation);
    ms_tree_note(tree, MS_ON_ALL, "", v->steep);
    if (v->plan->plan.time.step_ms > 0)
        ms_tree_note(tree, MS_ON_PAGE, "", v->times_note);
}

/* What to type, and on a page how each layer is treated. */
static void add_treat(ms_tree *tree, const ms_plan_view *v)
{
    const char *treat = v->figures->treat;
    const bool has_text = *treat || *v->moved, has_layers = v->figures->treatments.layers != NULL;
    const size_t room = v->answer->style.columns > 10 ? v->answer->style.columns - 10 : 0;
    const char *typed = ms_tree_text(tree, "%s%s%s%s", v->moved, *v->moved && *treat ? "\n" : "",
                                     *treat ? "--treat " : "", treat);
    if (!has_text && !has_layers)
        return;
    ms_tree_section(tree, has_text ? MS_ON_ALL : MS_ON_PAGE, "treatments",
                    v->is_least ? "The smallest plan found" : "The plan", "for memscope analyze");
    if (strlen(treat) <= room) {
        ms_tree_code(tree, MS_ON_ALL, "treat", typed);
    } else {
        ms_tree_code(tree, MS_OFF_CONSOLE, "treat", typed);
        ms_tree_code(tree, MS_ON_CONSOLE, NULL, v->moved);
        ms_tree_paragraph(
            tree, MS_ON_CONSOLE,
            "too long for --treat here: save it with -o plan.json, then use --plan plan.json");
    }
    if (has_layers)
        ms_tree_picture(tree, "", v, draw_treatments);
}

static bool has_target(const ms_plan_view *v)
{
    return v->target_title && v->plan->target_text && !v->is_infeasible;
}

static void add_target(ms_tree *tree, const ms_plan_view *v, unsigned where)
{
    const ms_step_plan *plan = v->plan;
    char ms[MS_FIXED_TEXT], percent[MS_FIXED_TEXT], more[MS_FIXED_TEXT];
    const double added_ms = plan->plan.time.step_ms - plan->target_free_ms;
    if (!has_target(v) || !where)
        return;
    ms_tree_section(tree, where, "target", ms_tree_text(tree, "For %s", v->target_title), "");
    ms_tree_code(tree, where, NULL, plan->target_text);
    if (!(plan->target_free_ms > 0))
        return;
    if (where & MS_ON_CONSOLE)
        ms_tree_gap(tree);
    ms_fixed(added_ms, 1, ms);
    ms_tree_say(tree, where,
                "cost of this trainer's limits: %s%s ms per step (%s) and %s GiB at the peak, "
                "compared with a free plan",
                *ms == '-' ? "" : "+", ms,
                ms_plan_percent(added_ms / plan->target_free_ms, percent),
                ms_plan_gib_more(plan->plan.peak_bytes, plan->target_free_peak_bytes, more));
}

/* Code of more than a few lines comes last on the console. */
static bool target_is_long(const ms_plan_view *v)
{
    enum { MAX_LINES = 20 };
    uint32_t lines = 0;
    for (const char *text = v->plan->target_text; text && *text; text++)
        lines += *text == '\n';
    return lines > MAX_LINES;
}

enum { MOST_DECISIONS = 12 };

static void add_decisions(ms_tree *tree, const ms_plan_view *v)
{
    static const ms_tree_column columns[] = {
        {.head = "", .before = 2, .width = 16, .wide_head = "what"},
        {.head = "", .is_flexible = true, .least = 10, .off = MS_OFF_CONSOLE},
        {.head = "how", .off = MS_ON_CONSOLE},
        {.head = "freed", .width = 10, .is_figure = true, .unit = "GiB"},
        {.head = "on host", .width = 10, .is_figure = true, .unit = "GiB"},
        {.head = "step longer", .width = 12, .is_figure = true, .unit = "ms"},
        {.head = "why", .off = MS_ON_CONSOLE}};
    const ms_step_plan *plan = v->plan;
    char place[MS_PLAN_PLACE_TEXT];
    if (plan->decisions.count == 0 || v->is_fallback)
        return;
    ms_tree_section(tree, MS_ON_ALL, "decisions", "Treated", "GiB, ms; most freed first");
    ms_tree_table *table = ms_tree_begin_table(tree, MS_ON_ALL, "What frees most first", columns,
                                               sizeof columns / sizeof *columns);
    if (table) {
        table->is_fixed = table->has_dim_head = table->is_sortable = true;
        table->most_console = MOST_DECISIONS;
        table->more = ": --format md lists them all";
    }
    for (uint32_t i = 0; i < plan->decisions.count; i++) {
        const ms_decision *d = &plan->decisions.items[i];
        ms_tree_cell(tree, table, ms_cell_text(ms_plan_place(d, place)));
        ms_tree_cell(tree, table, ms_cell_text(ms_plan_short(v, d->treatment)));
        ms_tree_cell(tree, table, ms_cell_code(d->treatment));
        ms_tree_cell(tree, table, ms_cell_gib(d->freed_bytes));
        ms_tree_cell(tree, table, d->host_bytes ? ms_cell_gib(d->host_bytes) : ms_cell_none());
        ms_tree_cell(tree, table, ms_cell_rounded(d->added_ms, 3, 2));
        ms_tree_cell(tree, table, ms_cell_text(d->why ? d->why : ""));
    }
    if (*v->kept_layers)
        ms_tree_say(tree, MS_ON_ALL, "kept: layer%s %s", strpbrk(v->kept_layers, ",-") ? "s" : "",
                    v->kept_layers);
    ms_tree_section(tree, MS_ON_CONSOLE, NULL, "Why", "");
    for (uint32_t i = 0; i < plan->decisions.count && i < MOST_DECISIONS; i++) {
        const ms_decision *d = &plan->decisions.items[i];
        ms_tree_say(tree, MS_ON_CONSOLE, "%s: %s", ms_plan_place(d, place), d->why ? d->why : "");
    }
}

static void add_rules(ms_tree *tree, const ms_plan_view *v)
{
    const ms_step_plan *plan = v->plan;
    char gib[MS_GIB_TEXT], real[MS_GIB_TEXT], percent[MS_FIXED_TEXT];
    if (v->answer->task->planner != MS_PLANNER_RULES)
        return;
    ms_tree_section(tree, MS_ON_ALL, "rules", "What the rules expected", "");
    ms_tree_say(
        tree, MS_ON_ALL,
        "the rules expected a peak of %s GiB and %s time; in simulation, the peak is %s GiB",
        ms_gib(plan->rules_estimate_bytes, gib),
        ms_plan_percent(plan->rules_estimate_overhead, percent),
        ms_gib(plan->plan.peak_bytes, real));
    ms_tree_paragraph(tree, MS_ON_ALL, v->host_note);
}

static void add_pictures(ms_tree *tree, const ms_plan_view *v)
{
    if (!v->analysis)
        return;
    if (v->kept) {
        ms_tree_section(tree, MS_ON_PAGE, "both", "As planned, and with everything kept", "");
        ms_tree_picture(tree, "Line: as planned. Dashed: with everything kept.", v, draw_both);
    }
    ms_tree_section(tree, MS_ON_PAGE, "timeline", "Memory over the step as planned", "");
    ms_tree_picture(tree, "", v->analysis, ms_html_timeline);
    ms_tree_section(tree, MS_ON_PAGE, "peak", "What the peak is made of", "");
    ms_tree_picture(tree, "", v->analysis, ms_html_composition);
}

/* What both end with; `count` of what was made. */
static void add_run(ms_tree *tree, const ms_plan_view *v, uint32_t count, const char *what,
                    double solve_ms)
{
    char ms[MS_FIXED_TEXT];
    ms_calibrated_tree(tree, v->run);
    ms_tree_run(tree, v->metadata, v->metadata_count);
    ms_inputs_tree(tree, &v->run->keys);
    ms_tree_gap(tree);
    ms_tree_say(tree, MS_OFF_PAGE, "planned by %s: %" PRIu32 " %s, %s ms",
                ms_planner_names[v->answer->task->planner], count, what, ms_fixed(solve_ms, 0, ms));
    ms_tree_dim(tree);
}

static void add_plan(ms_tree *tree, const ms_plan_view *v)
{
    const bool is_last = target_is_long(v);
    if (v->is_infeasible)
        ms_plan_suggestions_tree(tree, v);
    add_treat(tree, v);
    ms_plan_needs_tree(tree, v);
    add_target(tree, v, is_last ? MS_OFF_CONSOLE : MS_ON_ALL);
    if (!v->is_infeasible)
        ms_plan_suggestions_tree(tree, v);
    add_pictures(tree, v);
    ms_plan_peak_tree(tree, v);
    add_extremes(tree, v);
    ms_plan_ways_tree(tree, v);
    ms_plan_time_tree(tree, v);
    add_decisions(tree, v);
    ms_plan_trainers_tree(tree, v);
    ms_plan_compared_tree(tree, v);
    add_rules(tree, v);
    add_run(tree, v, v->plan->simulations, "simulations", v->plan->solve_ms);
    if (is_last)
        add_target(tree, v, MS_ON_CONSOLE);
    if (v->analysis)
        ms_not_modelled_tree(tree, v->analysis, MS_ON_PAGE);
}

static void add_curve(ms_tree *tree, const ms_plan_view *v)
{
    if (!v->run->device->has_assumed_rates && v->curve->points.count) {
        ms_tree_section(tree, MS_ON_PAGE, "curve", "Time against memory", "");
        ms_tree_picture(tree, "", v, draw_curve);
    }
    ms_plan_points_tree(tree, v);
    add_run(tree, v, v->curve->points.count, "points", v->curve->solve_ms);
}

static ms_tree build(const ms_plan_view *v)
{
    ms_tree tree = ms_tree_begin(v->arena);
    ms_tree_head(&tree, v->curve ? "Time against memory" : "Plan of a training step", v->title,
                 v->verdict, v->tone);
    add_answer(&tree, v);
    if (v->run->several_gpus.text)
        ms_tree_note(&tree, MS_ON_ALL, "note:", v->run->several_gpus.text);
    if (v->curve)
        add_curve(&tree, v);
    else
        add_plan(&tree, v);
    return tree;
}

MS_TREE_WRITERS(ms_plan, ms_plan_view, build, &v->answer->style)
