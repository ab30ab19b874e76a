/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/plan/plan_tables.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "input/config/run/run_config.h"
#include "report/view/fit_words.h"
#include "report/view/suggestions.h"

/* ---- beside the extremes ---- */

static ms_tree_table *begin_columns(ms_tree *tree, const ms_plan_view *v, const char *corner)
{
    static const uint8_t widths[MS_PLAN_COLUMNS] = {10, 10, 16};
    ms_tree_column *columns = ms_arena_array(v->arena, ms_tree_column, 1 + MS_PLAN_COLUMNS);
    if (!columns)
        return NULL;
    columns[0] = (ms_tree_column){.head = "",
                                  .before = 2,
                                  .width = 28,
                                  .is_flexible = true,
                                  .cut = MS_CUT_NAME,
                                  .wide_head = corner};
    for (uint32_t i = 0; i < MS_PLAN_COLUMNS; i++)
        columns[1 + i] =
            (ms_tree_column){.head = v->columns[i].label, .width = widths[i], .is_figure = true};
    ms_tree_table *table = ms_tree_begin_table(tree, MS_OFF_PAGE, "", columns, 1 + MS_PLAN_COLUMNS);
    if (table)
        table->is_fixed = table->has_dim_head = true;
    return table;
}

static void bytes_row(ms_tree *tree, ms_tree_table *table, const ms_plan_view *v, const char *label,
                      size_t offset)
{
    ms_tree_cell(tree, table, ms_cell_text(label));
    for (uint32_t i = 0; i < MS_PLAN_COLUMNS; i++) {
        uint64_t bytes;
        memcpy(&bytes, (const char *)v->columns[i].figures + offset, sizeof bytes);
        ms_tree_cell(tree, table, ms_cell_gib(bytes));
    }
}

void ms_plan_peak_tree(ms_tree *tree, const ms_plan_view *v)
{
    bool uses_host = false;
    for (uint32_t i = 0; i < MS_PLAN_COLUMNS; i++)
        uses_host = uses_host || v->columns[i].figures->host_bytes > 0;
    ms_tree_section(tree, MS_OFF_PAGE, NULL, "At the peak", "GiB");
    ms_tree_table *table = begin_columns(tree, v, "GiB");
    for (uint32_t i = 0; i < v->category_count; i++)
        bytes_row(tree, table, v, ms_category_name(v->categories[i]),
                  offsetof(ms_step_figures, category_bytes) +
                      v->categories[i] * sizeof v->figures->category_bytes[0]);
    bytes_row(tree, table, v, "allocated", offsetof(ms_step_figures, peak_bytes));
    if (v->run->allocator.kind != MS_ALLOCATOR_RAW) {
        bytes_row(tree, table, v, "reserved by the allocator",
                  offsetof(ms_step_figures, reserved_bytes));
        bytes_row(tree, table, v, "on the device, with context",
                  offsetof(ms_step_figures, device_bytes));
    }
    if (uses_host)
        bytes_row(tree, table, v, "on the host", offsetof(ms_step_figures, host_bytes));
    ms_tree_cell(tree, table, ms_cell_text("verdict"));
    for (uint32_t i = 0; i < MS_PLAN_COLUMNS; i++)
        ms_tree_cell(tree, table,
                     ms_cell_text(ms_fit_cell(ms_plan_reason(v, v->columns[i].figures))));
}

typedef enum time_row { COMPUTE, AGAIN, WAITING, RETRY, STEP, TOKENS, COST } time_row;

static double time_of(const ms_plan_view *v, time_row row, uint32_t column)
{
    const ms_step_time *t = &v->columns[column].figures->time;
    switch (row) {
    case COMPUTE:
        return t->compute_ms - t->recompute_ms;
    case AGAIN:
        return t->recompute_ms;
    case WAITING:
        return ms_step_waiting_ms(t);
    case RETRY:
        return t->retry_ms;
    case STEP:
        return t->step_ms;
    case TOKENS:
        return ms_run_tokens_per_s(v->run, t->step_ms);
    case COST:
        break;
    }
    return ms_plan_cost(v, t->step_ms);
}

/* On the console with `fewer` decimals. */
static void numbers_row(ms_tree *tree, ms_tree_table *table, const ms_plan_view *v,
                        const char *label, time_row row, uint32_t decimals, uint32_t fewer)
{
    ms_tree_cell(tree, table, ms_cell_text(label));
    for (uint32_t i = 0; i < MS_PLAN_COLUMNS; i++)
        ms_tree_cell(tree, table, ms_cell_rounded(time_of(v, row, i), decimals, fewer));
}

void ms_plan_time_tree(ms_tree *tree, const ms_plan_view *v)
{
    char text[MS_FIXED_TEXT];
    const bool has_several = ms_plan_gpus(v) > 1;
    bool has_retries = false;
    ms_tree_section(tree, MS_OFF_PAGE, NULL, "A step", "ms");
    if (!(v->columns[1].figures->time.step_ms > 0)) {
        ms_tree_paragraph(tree, MS_OFF_PAGE, v->rates_note);
        return;
    }
    ms_tree_table *table = begin_columns(tree, v, "ms");
    for (uint32_t i = 0; i < MS_PLAN_COLUMNS; i++)
        has_retries = has_retries || time_of(v, RETRY, i) > 0;
    numbers_row(tree, table, v, "computing", COMPUTE, 3, 2);
    numbers_row(tree, table, v, "recomputing", AGAIN, 3, 2);
    numbers_row(tree, table, v, v->waiting, WAITING, 3, 2);
    if (has_retries)
        numbers_row(tree, table, v, "returning cached memory", RETRY, 3, 2);
    numbers_row(tree, table, v, "together", STEP, 3, 2);
    ms_tree_cell(tree, table, ms_cell_text("vs. keeping everything"));
    for (uint32_t i = 0; i < MS_PLAN_COLUMNS; i++)
        ms_tree_cell(tree, table,
                     ms_cell_text(ms_plan_percent(ms_plan_overhead(v, time_of(v, STEP, i)), text)));
    if (has_several)
        numbers_row(tree, table, v, "tokens/s, all GPUs", TOKENS, 1, 1);
    ms_fixed(v->answer->task->gpu_cost_per_hour, 2, text);
    numbers_row(tree, table, v,
                has_several
                    ? ms_tree_text(tree, "1,000 steps, %" PRIu64 " x %s/h", ms_plan_gpus(v), text)
                    : ms_tree_text(tree, "1,000 steps, at %s/h", text),
                COST, 2, 0);
    ms_tree_paragraph(tree, MS_OFF_PAGE, v->times_note);
}

/* ---- tables of figures ---- */

enum { NAME, PEAK, HIGHER, RESERVED, DEVICE, HOST, MS, LONGER, VERSUS, FITS, PLAN, FIGURES };
#define COLUMN(index) (1u << (index))

/* What stands in which format; what the console has besides is said for each table. */
static const ms_tree_column figures_columns[FIGURES] = {
    [NAME] = {.before = 2, .width = 10},
    [PEAK] = {.head = "peak", .before = 1, .width = 8, .is_figure = true, .unit = "GiB"},
    [HIGHER] = {.head = "higher",
                .before = 1,
                .width = 8,

                .is_figure = true,
                .off = MS_OFF_CONSOLE},
    [RESERVED] =
        {.head = "reserved", .before = 1, .width = 8, .is_figure = true, .off = MS_OFF_PAGE},
    [DEVICE] = {.head = "device",
                .before = 1,
                .width = 8,
                .is_figure = true,
                .wide_head = "on the device",
                .unit = "GiB"},
    [HOST] = {.head = "on host",
              .before = 1,
              .width = 8,

              .is_figure = true,
              .wide_head = "on the host",
              .off = MS_ON_MARKDOWN},
    [MS] = {.head = "step", .before = 1, .width = 9, .is_figure = true, .wide_head = "ms per step"},
    [LONGER] = {.head = "longer",
                .before = 1,
                .width = 8,

                .is_figure = true,
                .off = MS_OFF_CONSOLE},
    [VERSUS] = {.head = "",
                .before = 1,
                .width = 8,

                .is_figure = true,
                .wide_head = "vs. keep all"},
    [FITS] = {.head = "fits", .before = 2, .width = 7},
    [PLAN] = {.head = "", .before = 2, .is_flexible = true, .least = 12},
};

/* `first` and `last`: heads of the first and the last column; `console`: the columns that are there
 * besides. */
static ms_tree_table *begin_figures(ms_tree *tree, unsigned where, const char *caption,
                                    const char *first, const char *last, unsigned console)
{
    ms_tree_column *columns = ms_arena_array(tree->arena, ms_tree_column, FIGURES);
    if (!columns)
        return NULL;
    memcpy(columns, figures_columns, sizeof figures_columns);
    columns[NAME].head = "";
    columns[NAME].wide_head = first;
    columns[PLAN].wide_head = last;
    for (uint32_t i = 1; i < FIGURES; i++)
        if (!(console & COLUMN(i)))
            columns[i].off |= MS_ON_CONSOLE;
    ms_tree_table *table = ms_tree_begin_table(tree, where, caption, columns, FIGURES);
    if (table) {
        table->is_fixed = table->has_dim_head = table->is_sortable = true;
    }
    return table;
}

/* Beside the figures of the plan. A NULL text is the plan's own treatment of layers. */
static void add_figures(ms_tree *tree, ms_tree_table *table, const ms_plan_view *v,
                        const char *name, const ms_step_figures *f, const char *text,
                        bool is_same_run)
{
    char more[MS_FIXED_TEXT], percent[MS_FIXED_TEXT];
    const ms_step_figures *base = v->plan ? v->figures : f; /* a curve has no plan */
    const double step_ms = f->time.step_ms;
    const double overhead = is_same_run ? ms_plan_overhead(v, step_ms) : NAN;
    text = text && *text ? text : f->treat;
    ms_tree_cell(tree, table, ms_cell_text(name));
    ms_tree_cell(tree, table, ms_cell_gib(f->peak_bytes));
    ms_tree_cell(tree, table,
                 ms_cell_text(ms_plan_gib_more(f->peak_bytes, base->peak_bytes, more)));
    ms_tree_cell(tree, table, ms_cell_gib(f->reserved_bytes));
    ms_tree_cell(tree, table, ms_cell_gib(f->device_bytes));
    ms_tree_cell(tree, table, ms_cell_gib(f->host_bytes));
    ms_tree_cell(tree, table, ms_cell_rounded(step_ms > 0 ? step_ms : NAN, 3, 2));
    ms_tree_cell(tree, table, ms_cell_number(step_ms > 0 ? step_ms - base->time.step_ms : NAN, 1));
    ms_tree_cell(tree, table, ms_cell_text(ms_plan_percent(overhead, percent)));
    ms_tree_cell(tree, table, ms_cell_verdict(ms_fit_cell(ms_plan_reason(v, f))));
    ms_tree_cell(tree, table, ms_cell_code(text && *text ? text : "keep everything"));
}

/* Of what has no figures. */
static void add_nothing(ms_tree *tree, ms_tree_table *table, const char *name)
{
    ms_tree_cell(tree, table, ms_cell_text(name));
    for (uint32_t i = 1; i < FITS; i++)
        ms_tree_cell(tree, table, ms_cell_text("-"));
    ms_tree_cell(tree, table, ms_cell_verdict("no"));
    ms_tree_cell(tree, table, ms_cell_text("no plan"));
}

static void add_alternatives(ms_tree *tree, ms_tree_table *table, const ms_plan_view *v,
                             const ms_vec_alternatives *list, bool is_same_run)
{
    for (uint32_t i = 0; i < list->count; i++) {
        const ms_alternative *a = &list->items[i];
        if (a->has_figures)
            add_figures(tree, table, v, a->name, &a->figures, a->option, is_same_run);
        else
            add_nothing(tree, table, a->name);
    }
}

enum {
    CONSOLE_COLUMNS = COLUMN(DEVICE) | COLUMN(MS) | COLUMN(VERSUS) | COLUMN(FITS) | COLUMN(PLAN),
    TRAINERS_COLUMNS =
        COLUMN(PEAK) | COLUMN(HIGHER) | COLUMN(MS) | COLUMN(LONGER) | COLUMN(FITS) | COLUMN(PLAN),
};

void ms_plan_ways_tree(ms_tree *tree, const ms_plan_view *v)
{
    ms_tree_section(tree, MS_ON_PAGE, "ways", "In figures", "");
    ms_tree_table *table = begin_figures(tree, MS_ON_PAGE, "Each simulated", "way", "plan", 0);
    for (uint32_t i = 0; i < MS_PLAN_COLUMNS; i++)
        add_figures(tree, table, v, v->columns[i].label, v->columns[i].figures, NULL, true);
}

void ms_plan_compared_tree(ms_tree *tree, const ms_plan_view *v)
{
    if (v->plan->compared.count == 0)
        return;
    ms_tree_section(tree, MS_ON_ALL, "planners", "Other planners",
                    "GiB on the device, ms; the same budget");
    ms_tree_table *table =
        begin_figures(tree, MS_ON_ALL, "At the same budget", "planner", "plan", CONSOLE_COLUMNS);
    add_alternatives(tree, table, v, &v->plan->compared, true);
}

void ms_plan_trainers_tree(ms_tree *tree, const ms_plan_view *v)
{
    const ms_target_answers *targets = v->answer->targets;
    if (!targets || targets->count == 0)
        return;
    ms_tree_section(tree, MS_ON_ALL, "trainers", "Trainers",
                    "ms, GiB; --target NAME shows what to type");
    ms_tree_table *table = begin_figures(tree, MS_ON_ALL, "Best plan of each at the same budget",
                                         "trainer", "plan", TRAINERS_COLUMNS);
    add_figures(tree, table, v, v->answer->task->target, v->figures, NULL, true);
    for (uint32_t i = 0; i < targets->count; i++) {
        const ms_target_answer *a = &targets->items[i];
        if (!a->unsupported)
            add_figures(tree, table, v, a->target->name, &a->plan.plan, NULL, true);
    }
    for (uint32_t i = 0; i < targets->count; i++)
        if (targets->items[i].unsupported)
            ms_tree_note(tree, MS_ON_ALL, "",
                         ms_tree_text(tree, "%s was not compared: %s",
                                      targets->items[i].target->name,
                                      targets->items[i].unsupported));
    for (uint32_t i = 0; i < targets->count; i++) {
        const ms_target_answer *a = &targets->items[i];
        if (!a->plan.target_text || a->plan.outcome == MS_PLAN_INFEASIBLE)
            continue;
        ms_tree_heading(tree, MS_OFF_CONSOLE, a->target->title);
        ms_tree_code(tree, MS_OFF_CONSOLE, NULL, a->plan.target_text);
    }
}

void ms_plan_points_tree(ms_tree *tree, const ms_plan_view *v)
{
    ms_tree_section(tree, MS_ON_ALL, "points", "Time against memory",
                    "GiB, ms; each point simulated");
    ms_tree_table *table =
        begin_figures(tree, MS_ON_ALL, "Each budget's fastest plan, simulated", "budget", "plan",
                      CONSOLE_COLUMNS | COLUMN(PEAK) | COLUMN(HOST));
    for (uint32_t i = 0; i < v->curve->points.count; i++) {
        const ms_curve_point *p = &v->curve->points.items[i];
        char gib[MS_GIB_TEXT];
        add_figures(tree, table, v, ms_tree_text(tree, "%s GiB", ms_gib(p->budget_bytes, gib)),
                    &p->figures, NULL, true);
    }
}

/* ---- suggestions ---- */

static const char *alternative_text(const ms_alternative *a)
{
    if (!ms_reason_fits(a->figures.reason))
        return "does not fit";
    if (a->option && *a->option)
        return a->option;
    return *a->figures.treat ? a->figures.treat : "keep everything";
}

/* On the console a paragraph each. */
void ms_plan_suggestions_tree(ms_tree *tree, const ms_plan_view *v)
{
    const ms_vec_alternatives *list = &v->plan->suggestions;
    ms_advice_cost before = MS_COST_COUNT;
    if (list->count == 0)
        return;
    ms_tree_section(tree, MS_ON_ALL, "suggestions", ms_plan_suggestions_title(v->plan),
                    v->is_infeasible ? "GiB on the device, time of a step; each simulated"
                                     : "GiB on the device, ms; each simulated");
    ms_tree_table *table = begin_figures(tree, MS_OFF_CONSOLE, "Changes of the run, each simulated",
                                         "change", "option", 0);
    add_alternatives(tree, table, v, list, false);
    for (uint32_t i = 0; i < list->count; i++) {
        const ms_alternative *a = &list->items[i];
        const double step_ms = a->figures.time.step_ms;
        char gib[MS_GIB_TEXT] = "-", ms[MS_FIXED_TEXT] = "-";
        if (v->is_infeasible) {
            const ms_suggestion_lines lines = {a->name,
                                               a->changes,
                                               a->option,
                                               a->cost,
                                               a->figures.device_bytes,
                                               a->figures.reason,
                                               ms_plan_overhead(v, step_ms)};
            ms_suggestion_tree(tree, &lines, before);
            before = a->cost;
            continue;
        }
        if (a->has_figures) {
            ms_gib(a->figures.device_bytes, gib);
            ms_plan_ms(step_ms, 1, ms);
        }
        ms_tree_item(tree, ms_tree_text(tree, "  %8s%10s ", gib, ms), a->name);
        ms_tree_item(tree, "     ", alternative_text(a));
    }
}
