/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A probe for people: predicted beside measured.
 */
#include <inttypes.h>
#include <math.h>

#include "base/locale.h"
#include "report/kit/tree/tree_writers.h"
#include "report/kit/writer_list.h"
#include "report/runtime/probe_view.h"
#include "base/text/number.h"

enum { NAME_COLUMNS = 34, CELL_BYTES = 32 };

static ms_cell cell_of(const ms_probe_row *row, double value)
{
    ms_cell cell = ms_cell_gib((uint64_t)value);
    cell.unit = " GiB";
    return row->is_time ? ms_cell_even(value, 2, " ms") : cell;
}

static const char *difference(const ms_probe_row *row, char text[CELL_BYTES])
{
    double share = ms_probe_difference(row);
    if (share == 0)
        snprintf(text, CELL_BYTES, "equal");
    else if (isinf(share))
        snprintf(text, CELL_BYTES, "not predicted");
    else
        ms_text_print(text, CELL_BYTES, "%+.2f %%", share * 100);
    return text;
}

static void add_rows(ms_tree *tree, const ms_probe_row *rows, uint32_t count)
{
    static const ms_tree_column columns[] = {
        {"", .before = 2, .width = NAME_COLUMNS, .is_flexible = true, .cut = MS_CUT_NAME,
         .wide_head = "figure"},
        {"predicted", .before = 1, .width = 14, .narrow = 12, .is_figure = true},
        {"measured", .before = 1, .width = 14, .narrow = 12, .is_figure = true},
        {"", .before = 2, .width = 9, .wide_head = "difference"}}; /* "+12.34 %" */
    char apart[CELL_BYTES];
    ms_tree_gap(tree);
    ms_tree_section(tree, MS_OFF_CONSOLE, "figures", "Predicted and measured", "");
    ms_tree_table *table =
        ms_tree_begin_table(tree, MS_ON_ALL, "Each figure as predicted and as measured", columns,
                            sizeof columns / sizeof columns[0]);
    if (table)
        table->is_fixed = true;
    for (uint32_t i = 0; i < count; i++) {
        ms_tree_cell(tree, table, ms_cell_text(rows[i].title));
        ms_tree_cell(tree, table, cell_of(&rows[i], rows[i].predicted));
        ms_tree_cell(tree, table, cell_of(&rows[i], rows[i].measured));
        ms_tree_cell(tree, table, ms_cell_text(difference(&rows[i], apart)));
    }
}

/* The verdict: whether all is equal, else what is not. */
static void find_most(ms_tree *tree, const ms_probe_row *rows, uint32_t count)
{
    char apart[CELL_BYTES], bytes[CELL_BYTES + 8] = "";
    const ms_probe_row *most = ms_probe_most(rows, count);
    tree->tone = most ? MS_VERDICT_TIGHT : MS_VERDICT_FITS;
    if (!most) {
        tree->verdict = "every figure is equal to the byte";
        return;
    }
    if (!most->is_time)
        snprintf(bytes, sizeof bytes, ", %+" PRId64 " bytes",
                 (int64_t)(most->measured - most->predicted));
    tree->verdict = ms_tree_text(tree, "the largest difference is in %s: %s%s", most->title,
                                 difference(most, apart), bytes);
}

/* ---- times ---- */

static const char *const time_names[MS_REPLAY_TIMES] = {
    [MS_OP_PRODUCT] = "products",
    [MS_OP_ATTENTION] = "attention, as traffic",
    [MS_OP_OTHER] = "other operators, as traffic",
    [MS_REPLAY_WAITING] = "waiting for copies and updates",
    [MS_REPLAY_BETWEEN] = "between operators",
};

static void add_skipped(ms_tree *tree, const ms_replay_result *r)
{
    const double flops = (double)r->skipped_flops;
    bool is_large = flops >= 1e12;
    if (r->skipped_flops > 0)
        ms_tree_gap(tree);
    if (r->skipped_flops > 0)
        ms_tree_say(tree, MS_ON_ALL,
                    "%.1f %s of the step's arithmetic was replayed as memory traffic only, so its "
                    "time is not compared with a prediction",
                    flops / (is_large ? 1e12 : 1e9), is_large ? "TFLOP" : "GFLOP");
}

static ms_tree_table *begin_times(ms_tree *tree, const char *caption)
{
    static const ms_tree_column columns[] = {
        {"", .before = 2, .width = NAME_COLUMNS, .wide_head = "part"},
        {"", .before = 1, .width = 11, .is_figure = true, .wide_head = "ms"}};
    ms_tree_table *table =
        ms_tree_begin_table(tree, MS_ON_ALL, caption, columns, sizeof columns / sizeof columns[0]);
    if (table)
        table->is_fixed = table->has_no_head = true;
    return table;
}

static void add_time(ms_tree *tree, ms_tree_table *table, const char *name, double ms)
{
    ms_tree_cell(tree, table, ms_cell_text(name));
    ms_tree_cell(tree, table, ms_cell_even(ms, 2, NULL));
}

static void add_times(ms_tree *tree, const ms_replay_result *r)
{
    double waited = r->times_ms[MS_REPLAY_WAITING], all = r->copy_ms + r->host_ms;
    ms_tree_section(tree, MS_ON_ALL, "times", "Time of the step", "ms, as measured");
    ms_tree_table *table = begin_times(tree, "By phase");
    for (uint32_t i = r->first_steady_phase; i < r->phases.count; i++) {
        const ms_replay_phase *p = &r->phases.items[i];
        char name[CELL_BYTES];
        snprintf(name, sizeof name, p->repeats > 1 ? "%s x%" PRIu32 : "%s",
                 ms_phase_name((ms_phase)p->phase), p->repeats);
        add_time(tree, table, name, p->ms);
    }
    add_time(tree, table, "the step", r->step_ms);
    ms_tree_gap(tree);
    table = begin_times(tree, "By kind of work");
    for (int i = 0; i < MS_REPLAY_TIMES; i++)
        if (r->times_ms[i] > 0)
            add_time(tree, table, time_names[i], r->times_ms[i]);
    if (r->copies > 0 || r->host_ms > 0) {
        add_time(tree, table, "copies", r->copy_ms);
        if (r->host_ms > 0)
            add_time(tree, table, "updates by the host", r->host_ms);
        add_time(tree, table, "of these hidden", all > waited ? all - waited : 0);
    }
    add_skipped(tree, r);
}

/* ---- all of it ---- */

static void add_head(const ms_probe_view *v, ms_tree *tree)
{
    const ms_backend_facts *f = v->facts;
    char total[MS_GIB_TEXT];
    const char *text = ms_tree_text(tree, "on %s: %s, %s GiB", f->title, f->versions,
                                    ms_gib(f->total_bytes, total));
    ms_tree_head(tree, "memscope", ms_tree_text(tree, "%s %s", ms_probe_title(v), text ? text : ""),
                 NULL, MS_VERDICT_NO);
    tree->made_from = "from a step that ran, and its prediction";
    ms_tree_subject(tree, ms_probe_title(v), text);
    if (v->is_memory_only)
        ms_tree_paragraph(tree, MS_ON_ALL, "memory only: allocations and releases, no operators");
    else if (f->is_simulated)
        ms_tree_paragraph(tree, MS_ON_ALL, "this device runs nothing, so no times are measured");
}

static void add_partial(const ms_probe_view *v, ms_tree *tree)
{
    const ms_replay_result *r = v->result;
    const char *message = v->message ? v->message : "";
    char peak[MS_GIB_TEXT], reserved[MS_GIB_TEXT];
    tree->verdict = ms_tree_text(tree, "partial: %s", message);
    ms_tree_gap(tree);
    ms_tree_note(tree, MS_ON_CONSOLE, "partial:", message);
    ms_tree_say(tree, MS_ON_ALL,
                "%" PRIu32 " of %" PRIu32 " events, in %s; by then allocated %s GiB, reserved %s "
                "GiB at most",
                r->played_events, r->event_count,
                r->has_steady ? "the steady step" : "the build or the first steps",
                ms_gib(r->peak_bytes, peak), ms_gib(r->most_reserved_bytes, reserved));
}

static ms_tree build(const ms_probe_view *v)
{
    ms_probe_row rows[MS_PROBE_ROWS];
    ms_tree tree = ms_tree_begin(NULL);
    uint32_t count = ms_probe_rows(v, rows);
    add_head(v, &tree);
    if (v->status != MS_OK) {
        add_partial(v, &tree);
        return tree;
    }
    find_most(&tree, rows, count);
    add_rows(&tree, rows, count);
    if (count > 0) {
        ms_tree_gap(&tree);
        ms_tree_paragraph(&tree, MS_ON_CONSOLE, tree.verdict);
    }
    if (v->result->has_times)
        add_times(&tree, v->result);
    return tree;
}

MS_TREE_WRITERS(ms_probe, struct ms_probe_view, build, v->style)
