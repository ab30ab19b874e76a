/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The report of a step for people: the verdict first, then what the peak is made of, ranks, phases,
 * the largest operators, suggestions, and what the figures rest on.
 */
#include <inttypes.h>
#include <string.h>

#include "input/config/model/model_config.h"
#include "report/kit/category_id.h"
#include "report/kit/tree/tree_writers.h"
#include "report/kit/writer_list.h"
#include "report/pictures/chart.h"
#include "report/ranks/communication.h"
#include "report/ranks/one_device_table.h"
#include "report/ranks/rank_table.h"
#include "report/step/html_operators.h"
#include "report/step/html_report.h"
#include "report/step/peak_parts.h"
#include "report/view/calibrated.h"
#include "report/view/fit_words.h"
#include "report/view/inputs.h"
#include "report/view/suggestions.h"
#include "report/view/times.h"

/* ---- the answer ---- */

static void add_headroom(ms_tree *tree, const ms_view *v)
{
    const ms_summary *s = v->summary;
    const ms_peak *peak = v->ledger->peak;
    const uint64_t reserved = s->reserved_memory_bytes, device = s->expected_device_bytes;
    const uint64_t rest = s->budget_bytes > device ? s->budget_bytes - device : 0;
    ms_tree_bar *bar = ms_tree_begin_bar(tree, v->verdict, device + rest, s->budget_bytes);
    for (uint32_t c = 0; c < MS_CATEGORY_COUNT; c++)
        ms_tree_piece(tree, bar, ms_json_category((uint8_t)c), ms_category_name((ms_category)c),
                      peak->category_bytes[c]);
    ms_tree_piece(tree, bar, "cached", "cached by the allocator",
                  reserved > peak->bytes ? reserved - peak->bytes : 0);
    ms_tree_piece(tree, bar, "context", "CUDA context", device - reserved);
    ms_tree_piece(tree, bar, "free", "free", rest);
}

static void add_answer(ms_tree *tree, const ms_view *v)
{
    ms_tree_line(tree, MS_ON_CONSOLE, v->title);
    ms_tree_answer(tree, ms_page_verdict_tone(v->summary->verdict), v->verdict);
    ms_tree_note(tree, MS_ON_ALL, ms_fit_why_label, v->why);
    for (uint32_t i = 0; i < v->finding_count; i++)
        ms_tree_note(tree, v->findings[i].name == ms_view_input_note ? MS_OFF_CONSOLE : MS_ON_ALL,
                     "note:", v->findings[i].text);
    add_headroom(tree, v);
    ms_calibrated_notes_tree(tree, v->ledger->run);
    ms_tree_note(tree, MS_ON_PAGE, "", ms_times_text(v->arena, v->ledger->run));
}

/* ---- phases ---- */

static void phase_row(ms_tree *tree, ms_tree_table *table, const ms_phase_usage *u,
                      bool is_numbered)
{
    const char *name = ms_phase_name((ms_phase)u->phase);
    const bool is_micro = u->phase == MS_PHASE_FORWARD || u->phase == MS_PHASE_BACKWARD;
    char number[MS_MICRO_STEP_TEXT];
    ms_micro_step_text(u, number);
    ms_tree_cell(
        tree, table,
        ms_cell_text(is_numbered && is_micro ? ms_tree_text(tree, "%s %s", name, number) : name));
    ms_tree_cell(tree, table, ms_cell_text(name));
    ms_tree_cell(tree, table, ms_cell_text(is_micro ? number : ""));
    ms_tree_cell(tree, table, ms_cell_gib(u->start_bytes));
    ms_tree_cell(tree, table, ms_cell_gib(u->peak_bytes));
    ms_tree_cell(tree, table, ms_cell_gib(u->end_bytes));
    ms_tree_cell(tree, table, ms_cell_gib(u->peak_reserved_bytes));
}

static void add_phases(ms_tree *tree, const ms_view *v)
{
    static const ms_tree_column columns[] = {
        {.head = "",
         .before = 2,
         .width = 20,
         .is_flexible = true,
         .cut = MS_CUT_NAME,
         .off = MS_OFF_CONSOLE},
        {.head = "phase", .off = MS_ON_CONSOLE},
        {.head = "micro-step", .is_figure = true, .off = MS_ON_CONSOLE},
        {.head = "start", .width = 10, .narrow = 9, .is_figure = true},
        {.head = "peak", .width = 10, .narrow = 9, .is_figure = true},
        {.head = "end", .width = 10, .narrow = 9, .is_figure = true},
        {.head = "reserved", .width = 10, .narrow = 9, .is_figure = true}};
    const ms_usage *usage = v->ledger->usage;
    const ms_phase_usage *evaluation = ms_ledger_evaluation(v->ledger);
    ms_tree_section(tree, MS_ON_ALL, "phases", "Phases of a step", "GiB");
    ms_tree_table *table = ms_tree_begin_table(
        tree, MS_ON_ALL, "Allocated when it begins, at most and when it ends; reserved at most",
        columns, sizeof columns / sizeof *columns);
    if (table)
        table->is_fixed = table->has_dim_head = true;
    for (uint32_t i = usage->first_steady_phase; i < usage->phases.count; i++)
        phase_row(tree, table, &usage->phases.items[i], v->ledger->run->training.accumulate > 1);
    if (evaluation)
        phase_row(tree, table, evaluation, false);
}

/* ---- operators ---- */

/* "Symbols: B = 1, S = 4096." */
static const char *symbols_text(ms_tree *tree, const ms_view *v)
{
    const ms_trace *trace = &v->ledger->simulation->trace;
    const char *text = "";
    for (uint32_t i = 0; text && i < trace->symbols.table.count; i++) {
        const ms_symbol *s = &trace->symbols.table.items[i];
        if (s->kind == MS_SYMBOL_NAME)
            text = ms_tree_text(tree, "%s%s %s = %" PRIu64, text, *text ? "," : "Symbols:", s->text,
                                s->value);
    }
    return text;
}

static void operator_row(ms_tree *tree, ms_tree_table *table, const char *name, uint64_t saved,
                         uint64_t all)
{
    ms_tree_cell(tree, table, ms_cell_text(name));
    ms_tree_cell(tree, table, ms_cell_gib(saved));
    ms_tree_cell(tree, table, ms_cell_gib(all - saved));
}

static void add_largest(ms_tree *tree, const ms_view *v)
{
    static const ms_tree_column columns[] = {
        {.head = "", .before = 2, .is_flexible = true, .cut = MS_CUT_NAME, .wide_head = "operator"},
        {.head = "saved", .width = 10, .is_figure = true, .unit = "GiB"},
        {.head = "other", .width = 10, .is_figure = true, .unit = "GiB"},
        {.head = "phase", .before = 2, .width = 9},
        {.head = "times", .before = 1, .width = 6, .is_figure = true},
        {.head = "bytes of one", .is_figure = true, .off = MS_ON_CONSOLE},
        {.head = "formula", .off = MS_ON_CONSOLE},
        {.head = "", .before = 1, .off = MS_OFF_CONSOLE} /* the console's last one stays free */};
    enum { COLUMNS = sizeof columns / sizeof *columns, REST = 3 };
    if (v->largest_count == 0)
        return;
    ms_tree_section(tree, MS_OFF_PAGE, NULL, "Largest operators", "GiB alive at the peak");
    ms_tree_table *table = ms_tree_begin_table(tree, MS_OFF_PAGE, "", columns, COLUMNS);
    if (table)
        table->is_fixed = table->has_dim_head = true;
    for (uint32_t i = 0; i < v->largest_count; i++) {
        const ms_record *r = v->largest[i];
        operator_row(tree, table, ms_view_record_name(v, r), r->peak_saved_bytes, r->peak_bytes);
        ms_tree_cell(tree, table, ms_cell_text(ms_phase_name((ms_phase)r->phase)));
        ms_tree_cell(tree, table, ms_cell_count(r->count));
        ms_tree_cell(tree, table, ms_cell_exact(r->memory_bytes));
        ms_tree_cell(tree, table, ms_cell_code(ms_view_formula(v, r)));
        ms_tree_cell(tree, table, ms_cell_none());
    }
    operator_row(tree, table, ms_tree_text(tree, "all %" PRIu32 " of them", v->operator_count),
                 v->operator_saved_bytes, v->operator_bytes);
    for (uint32_t i = REST; i < COLUMNS; i++)
        ms_tree_cell(tree, table, ms_cell_none());
    ms_tree_paragraph(tree, MS_OFF_PAGE,
                      "saved: activations for the backward pass; other: temporaries, workspaces "
                      "and short-lived gradients; over all executions in a step");
    ms_tree_paragraph(tree, MS_ON_MARKDOWN,
                      "Formula: bytes that one execution allocates and that remain after it.");
    ms_tree_paragraph(tree, MS_ON_MARKDOWN, symbols_text(tree, v));
}

/* ---- sections ---- */

static void chart(const ms_page *page, const void *view)
{
    ms_chart(page, view);
}

static bool draw_operators(FILE *out, const void *view)
{
    return ms_html_operators(out, view);
}

static bool draw_treatments(FILE *out, const void *view)
{
    const ms_view *v = view;
    return ms_html_treatments(out, &v->ledger->run->treatments, v->ledger->model->num_layers,
                              v->arena);
}

/* A section of the page that draws itself. */
static void add_drawn(ms_tree *tree, const ms_view *v, const char *id, const char *title,
                      bool (*draw)(FILE *out, const void *view))
{
    ms_tree_section(tree, MS_ON_PAGE, id, title, "");
    ms_tree_picture(tree, "", v, draw);
}

static void add_ranks(ms_tree *tree, const ms_view *v)
{
    if (ms_rank_table_is_there(v)) {
        ms_tree_written(tree, v, ms_rank_table_console, ms_rank_table_markdown);
        add_drawn(tree, v, "ranks", "Ranks", ms_rank_table_html);
    }
    if (ms_one_device_is_there(v)) {
        ms_tree_written(tree, v, ms_one_device_console, ms_one_device_markdown);
        add_drawn(tree, v, "one-device", "Compared with one device", ms_one_device_html);
    }
    if (ms_communication_is_there(v)) {
        ms_tree_written(tree, v, ms_communication_console, ms_communication_markdown);
        add_drawn(tree, v, "communication", "Communication of a step", ms_communication_html);
    }
}

static ms_tree build(const ms_view *v)
{
    ms_tree tree = ms_tree_begin(v->arena);
    const ms_run_config *run = v->ledger->run;
    ms_tree_head(&tree, "Memory of a training step", v->title, v->verdict, v->summary->verdict);
    add_answer(&tree, v);
    if (ms_suggestions_lead(v))
        ms_suggestions_tree(&tree, v);
    if (v->style.chart)
        ms_tree_written(&tree, v, chart, NULL);
    add_drawn(&tree, v, "timeline", "Memory over the step", ms_html_timeline);
    ms_tree_written(&tree, v, ms_peak_console, ms_peak_markdown);
    add_drawn(&tree, v, "peak", "What the peak is made of", ms_html_composition);
    add_ranks(&tree, v);
    if (ms_html_is_treated(&run->treatments, v->ledger->model->num_layers))
        add_drawn(&tree, v, "treatments", "How layers are treated", draw_treatments);
    add_phases(&tree, v);
    add_largest(&tree, v);
    if (ms_suggestions_follow(v))
        ms_suggestions_tree(&tree, v);
    add_drawn(&tree, v, "operators", "Operators", draw_operators);
    add_drawn(&tree, v, "figures", "All figures", ms_html_summary);
    ms_calibrated_tree(&tree, run);
    ms_tree_run(&tree, v->metadata, v->metadata_count);
    ms_inputs_tree(&tree, &run->keys);
    ms_not_modelled_tree(&tree, v, MS_ON_ALL);
    return tree;
}

MS_TREE_WRITERS(ms_report, ms_view, build, &v->style)
