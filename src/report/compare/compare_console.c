/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A comparison as console text.
 */
#include <inttypes.h>

#include "base/printable.h"
#include "decide/compare/compare_verdict.h"
#include "report/kit/writer_list.h"
#include "base/text/number.h"
#include "report/kit/page.h"

enum { MOST_ROWS = 12, NAME_COLUMNS = 32, FIGURES_COLUMNS = 48 };

static void write_side(const ms_recorded *r, const char *name, const ms_page *page)
{
    char text[1024];
    snprintf(text, sizeof text, "%.600s: %s%s%.160s%s%.160s", r->path, ms_compare_mode(r),
             r->device ? ", " : "", r->device ? r->device : "", r->torch ? ", torch " : "",
             r->torch ? r->torch : "");
    fprintf(page->out, "  %-8s", name);
    ms_page_rest(page, 10, text);
}

static void write_head(const ms_compare_view *v, const ms_page *page)
{
    fputs(ms_page_tone(page, v->is_near ? MS_TONE_GOOD : MS_TONE_BAD), page->out);
    ms_page_line(page, v->verdict);
    fputs(ms_page_tone(page, MS_TONE_END), page->out);
    if (*v->why)
        ms_page_paragraph(page, v->why);
    for (uint32_t i = 0; i < v->note_count; i++)
        ms_page_paragraph(page, v->notes[i]);
    fputc('\n', page->out);
    write_side(v->first, "first", page);
    write_side(v->second, "second", page);
}

static uint32_t name_columns(const ms_page *page)
{
    return ms_page_room(page, NAME_COLUMNS, 2 + FIGURES_COLUMNS);
}

static void write_share(FILE *out, double share)
{
    char text[MS_FIXED_TEXT];
    fprintf(out, "%8s", ms_fixed(100 * share, 2, text));
}

static void write_row(const ms_page *page, const ms_compare_row *row)
{
    FILE *out = page->out;
    char first[MS_GIB_TEXT], second[MS_GIB_TEXT], name[MS_ROW_TEXT], residual[32] = "-";
    if (row->is_known)
        snprintf(residual, sizeof residual, "%+" PRId64, row->residual);
    fputs("  ", out);
    ms_page_name(page, ms_compare_row_name(row, name), name_columns(page));
    fprintf(out, "%9s%9s%14s", row->has_first ? ms_gib(row->first_bytes, first) : "-",
            row->has_second ? ms_gib(row->second_bytes, second) : "-", residual);
    write_share(out, row->of_peak);
    write_share(out, row->of_residual);
    fputc('\n', out);
}

static void write_table(const ms_compare_view *v, ms_compare_table table, const ms_page *page)
{
    const ms_compare_rows *rows = &v->tables[table];
    bool is_cut = table == MS_COMPARE_MODULES && rows->count > MOST_ROWS;
    if (rows->count == 0)
        return;
    ms_page_heading(page, ms_compare_titles[table].title,
                    "  (GiB; bytes; % of the first peak and of the total difference)");
    fprintf(page->out, "  %*s%9s%9s%14s%8s%8s\n", (int)name_columns(page), "", "first", "second",
            "difference", "peak", "share");
    for (uint32_t i = 0; i < (is_cut ? MOST_ROWS : rows->count); i++)
        write_row(page, &rows->items[i]);
    if (is_cut)
        fprintf(page->out, "  and %" PRIu32 " more, in --format json\n", rows->count - MOST_ROWS);
}

static void write_timelines(const ms_compare_view *v, const ms_page *page)
{
    const ms_compare_parting *p = &v->parting;
    char a[MS_GIB_TEXT], b[MS_GIB_TEXT], text[320];
    if (!p->is_known)
        return;
    ms_page_heading(page, "Event by event", "  (allocations and frees of the step)");
    snprintf(text, sizeof text,
             "recorded up to event %" PRIu64 " of the first, %" PRIu64 " of the second",
             p->first_events, p->second_events);
    ms_page_paragraph(page, text);
    if (p->has_parted)
        snprintf(text, sizeof text,
                 "they diverge after event %" PRIu64 ", at %" PRIu64
                 ", in %.80s: %s and %s GiB, %+" PRId64 " bytes",
                 p->same_event, p->event, p->phase, ms_gib(p->first_bytes, a),
                 ms_gib(p->second_bytes, b), (int64_t)(p->second_bytes - p->first_bytes));
    else
        snprintf(text, sizeof text,
                 "they do not diverge: %s%" PRId64 " bytes at every event in both",
                 p->from_start > 0 ? "+" : "", p->from_start);
    ms_page_paragraph(page, text);
}

bool ms_compare_console(FILE *out, const ms_compare_view *v)
{
    const ms_page page = ms_page_begin(out, &v->second->style);
    write_head(v, &page);
    for (int i = 0; i < MS_COMPARE_TABLES; i++)
        write_table(v, (ms_compare_table)i, &page);
    write_timelines(v, &page);
    return true;
}
