/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A diff as console text.
 */
#include <inttypes.h>
#include <string.h>

#include "report/kit/writer_list.h"
#include "base/text/size.h"
#include "report/diff/diff_view.h"
#include "report/kit/page.h"
#include "report/plan/plan_view.h"

enum { MOST_ROWS = 12, CHANGE_WIDTH = 8, SIZE_WIDTH = 11, LABEL_WIDTH = 32, MOST_LABEL = 72 };
enum { SIZES_WIDTH = 3 * (SIZE_WIDTH + 1) + 1, VALUES_WIDTH = 30 };

static ms_tone tone_of(uint64_t a_bytes, uint64_t b_bytes)
{
    return b_bytes > a_bytes ? MS_TONE_BAD : MS_TONE_GOOD;
}

static void put_sizes(const ms_page *page, uint64_t a_bytes, uint64_t b_bytes)
{
    char a[MS_SIZE_TEXT_BYTES], b[MS_SIZE_TEXT_BYTES], change[MS_CHANGE_TEXT];
    bool differs = a_bytes != b_bytes;
    fprintf(page->out, " %*s %*s  %s%*s%s", SIZE_WIDTH, ms_size_format(a_bytes, a, sizeof a),
            SIZE_WIDTH, ms_size_format(b_bytes, b, sizeof b),
            differs ? ms_page_tone(page, tone_of(a_bytes, b_bytes)) : "", SIZE_WIDTH,
            ms_change_text(a_bytes, b_bytes, change),
            differs ? ms_page_tone(page, MS_TONE_END) : "");
}

static void write_name(const ms_page *page, const char *side, const char *name,
                       const ms_report *report)
{
    char verdict[MS_DIFF_VERDICT_TEXT], text[1024];
    snprintf(text, sizeof text, "%s: %.800s%s%s", side, name, report->has_reason ? ": " : "",
             report->has_reason ? ms_diff_verdict(report, verdict) : "");
    ms_page_line(page, text);
}

static void write_figures(const ms_page *page, const ms_diff_view *v)
{
    const uint32_t width = ms_page_room(page, LABEL_WIDTH, SIZES_WIDTH + 2);
    fprintf(page->out, "\n  %*s %*s %*s  %*s\n", (int)width, "", SIZE_WIDTH, "A", SIZE_WIDTH, "B",
            SIZE_WIDTH, "change");
    for (uint32_t i = 0; i < v->figure_count; i++) {
        const ms_diff_figure *f = &v->figures[i];
        if (f->a_bytes == 0 && f->b_bytes == 0)
            continue;
        fputs("  ", page->out);
        ms_page_name(page, f->title, width);
        put_sizes(page, f->a_bytes, f->b_bytes);
        fputc('\n', page->out);
    }
    const ms_report *a = v->diff->a, *b = v->diff->b;
    fputs("  ", page->out);
    ms_page_name(page, "the peak is in", width);
    ms_page_put(page, " %*s %*s", SIZE_WIDTH, a->peak_phase, SIZE_WIDTH, b->peak_phase);
    fputc('\n', page->out);
    char before[MS_FIXED_TEXT], after[MS_FIXED_TEXT];
    if (a->step_ms > 0 && b->step_ms > 0)
        fprintf(page->out, "  %-*s %*s %*s\n", (int)width, "step, ms", SIZE_WIDTH,
                ms_fixed(a->step_ms, 1, before), SIZE_WIDTH, ms_fixed(b->step_ms, 1, after));
}

static void write_fields(const ms_page *page, const char *title, const ms_field_change *rows,
                         uint32_t count)
{
    char values[MS_VALUES_TEXT];
    const uint32_t width = ms_page_room(page, LABEL_WIDTH, VALUES_WIDTH);
    if (count == 0)
        return;
    ms_page_heading(page, title, "");
    for (uint32_t i = 0; i < count; i++) {
        fprintf(page->out, "  %-*s", CHANGE_WIDTH, ms_diff_kind_names[rows[i].change]);
        ms_page_cell(page, rows[i].name, width);
        ms_page_rest(page, 2 + CHANGE_WIDTH + width, ms_values_text(&rows[i], values));
    }
}

/* Names differ at their end. */
static void put_label(const ms_page *page, const ms_part_change *row, uint32_t width)
{
    enum { LEAST = 16 };
    char label[512];
    snprintf(label, sizeof label, "%.400s%s%.80s", row->name, *row->where ? ", " : "", row->where);
    if (width < LEAST) {
        ms_page_end_cell(page, label, page->columns - 2 - CHANGE_WIDTH);
        fprintf(page->out, "\n%*s", (int)(2 + CHANGE_WIDTH + width), "");
        return;
    }
    ms_page_end_cell(page, label, width);
}

/* What a reader of the longest names has room for. */
static uint32_t label_width(const ms_page *page)
{
    return ms_page_room(page, MOST_LABEL, 2 + CHANGE_WIDTH + SIZES_WIDTH);
}

static void write_table(const ms_page *page, const ms_diff *diff, ms_diff_table table)
{
    uint32_t count = diff->tables[table].count, width = label_width(page);
    if (count == 0)
        return;
    ms_page_heading(page, ms_diff_titles[table].title, "");
    for (uint32_t i = 0; i < count && i < MOST_ROWS; i++) {
        const ms_part_change *row = &diff->tables[table].items[i];
        fprintf(page->out, "  %-*s", CHANGE_WIDTH, ms_diff_kind_names[row->change]);
        put_label(page, row, width);
        put_sizes(page, row->a_bytes, row->b_bytes);
        fputc('\n', page->out);
    }
    if (count > MOST_ROWS)
        fprintf(page->out, "  and %" PRIu32 " more\n", count - MOST_ROWS);
}

bool ms_diff_console(FILE *out, const ms_diff_view *v)
{
    const ms_page page = ms_page_begin(out, &v->style);
    const ms_diff *diff = v->diff;
    write_name(&page, "A", v->a_name, diff->a);
    write_name(&page, "B", v->b_name, diff->b);
    for (int side = 0; side < 2; side++)
        if (ms_diff_note(v, side))
            ms_page_note(&page, side ? "note on B:" : "note on A:", ms_diff_note(v, side));
    if (diff->is_same) {
        fprintf(out, "\nnothing differs\n");
        return true;
    }
    write_figures(&page, v);
    write_fields(&page, "The config", diff->config, diff->config_count);
    write_fields(&page, "The run", diff->settings, diff->settings_count);
    for (int i = 0; i < MS_DIFF_TABLES; i++)
        write_table(&page, diff, (ms_diff_table)i);
    return true;
}
