/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A diff as Markdown, in the order of the console view.
 */
#include <inttypes.h>

#include "report/kit/writer_list.h"
#include "base/text/size.h"
#include "report/diff/diff_view.h"
#include "report/kit/markdown.h"
#include "report/plan/plan_view.h"

enum { MOST_ROWS = 30 };

static void put_sizes(FILE *out, uint64_t a_bytes, uint64_t b_bytes)
{
    char a[MS_SIZE_TEXT_BYTES], b[MS_SIZE_TEXT_BYTES], change[MS_CHANGE_TEXT];
    fprintf(out, " | %s | %s | %s |\n", ms_size_format(a_bytes, a, sizeof a),
            ms_size_format(b_bytes, b, sizeof b), ms_change_text(a_bytes, b_bytes, change));
}

static void write_figures(FILE *out, const ms_diff_view *v)
{
    fputs("\n| | A | B | change |\n|---|---:|---:|---:|\n", out);
    for (uint32_t i = 0; i < v->figure_count; i++) {
        const ms_diff_figure *f = &v->figures[i];
        if (f->a_bytes == 0 && f->b_bytes == 0)
            continue;
        fprintf(out, "| %s", f->title);
        put_sizes(out, f->a_bytes, f->b_bytes);
    }
    const ms_report *a = v->diff->a, *b = v->diff->b;
    fputs("| the peak is in | ", out);
    ms_markdown_text(out, a->peak_phase);
    fputs(" | ", out);
    ms_markdown_text(out, b->peak_phase);
    fputs(" | |\n", out);
    char before[MS_FIXED_TEXT], after[MS_FIXED_TEXT];
    if (a->step_ms > 0 && b->step_ms > 0)
        fprintf(out, "| step, ms | %s | %s | |\n", ms_fixed(a->step_ms, 1, before),
                ms_fixed(b->step_ms, 1, after));
}

static void write_fields(FILE *out, const char *title, const ms_field_change *rows, uint32_t count)
{
    if (count == 0)
        return;
    fprintf(out, "\n| %s | | A | B |\n|---|---|---|---|\n", title);
    for (uint32_t i = 0; i < count; i++) {
        fputs("| ", out);
        ms_markdown_text(out, rows[i].name);
        fprintf(out, " | %s | ", ms_diff_kind_names[rows[i].change]);
        ms_markdown_text(out, rows[i].a ? rows[i].a : "-");
        fputs(" | ", out);
        ms_markdown_text(out, rows[i].b ? rows[i].b : "-");
        fputs(" |\n", out);
    }
}

static void write_table(FILE *out, const ms_diff *diff, ms_diff_table table)
{
    uint32_t count = diff->tables[table].count;
    if (count == 0)
        return;
    fprintf(out, "\n| %s | | A | B | change |\n|---|---|---:|---:|---:|\n",
            ms_diff_titles[table].title);
    for (uint32_t i = 0; i < count && i < MOST_ROWS; i++) {
        const ms_part_change *row = &diff->tables[table].items[i];
        fputs("| ", out);
        ms_markdown_text(out, row->name);
        fputs(*row->where ? ", " : "", out);
        ms_markdown_text(out, row->where);
        fprintf(out, " | %s", ms_diff_kind_names[row->change]);
        put_sizes(out, row->a_bytes, row->b_bytes);
    }
    if (count > MOST_ROWS)
        fprintf(out, "\nAnd %" PRIu32 " more.\n", count - MOST_ROWS);
}

static void write_name(FILE *out, const char *side, const char *name, const ms_report *report)
{
    char verdict[MS_DIFF_VERDICT_TEXT];
    fprintf(out, "%s: ", side);
    ms_markdown_text(out, name);
    fputs(report->has_reason ? ": " : "", out);
    ms_markdown_text(out, report->has_reason ? ms_diff_verdict(report, verdict) : "");
}

bool ms_diff_markdown(FILE *out, const ms_diff_view *v)
{
    const ms_diff *diff = v->diff;
    fputs("# A memory comparison\n\n", out);
    write_name(out, "A", v->a_name, diff->a);
    fputs("<br>\n", out);
    write_name(out, "B", v->b_name, diff->b);
    fputc('\n', out);
    for (int side = 0; side < 2; side++)
        ms_markdown_note(out, side ? "Note on B:" : "Note on A:", ms_diff_note(v, side));
    if (diff->is_same) {
        fputs("\nNothing differs.\n", out);
        return true;
    }
    write_figures(out, v);
    write_fields(out, "The config", diff->config, diff->config_count);
    write_fields(out, "The run", diff->settings, diff->settings_count);
    for (int i = 0; i < MS_DIFF_TABLES; i++)
        write_table(out, diff, (ms_diff_table)i);
    return true;
}
