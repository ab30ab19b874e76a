/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A comparison as Markdown, in the order of the console view.
 */
#include <inttypes.h>

#include "decide/compare/compare_verdict.h"
#include "report/kit/writer_list.h"
#include "report/kit/markdown.h"
#include "base/text/number.h"

enum { MOST_ROWS = 40 };

static void write_side(FILE *out, const char *name, const ms_recorded *r)
{
    fprintf(out, "| %s | ", name);
    ms_markdown_text(out, r->path);
    fputs(" | ", out);
    ms_markdown_text(out, ms_compare_mode(r));
    fputs(" | ", out);
    ms_markdown_text(out, r->device ? r->device : "");
    fputs(" | ", out);
    ms_markdown_text(out, r->torch ? r->torch : "");
    fputs(" |\n", out);
}

static void write_share(FILE *out, double share)
{
    char text[MS_FIXED_TEXT];
    fprintf(out, " %s |", ms_fixed(100 * share, 2, text));
}

static void write_row(FILE *out, const ms_compare_row *row)
{
    char first[MS_GIB_TEXT], second[MS_GIB_TEXT], name[MS_ROW_TEXT];
    fputs("| ", out);
    ms_markdown_text(out, ms_compare_row_name(row, name));
    fprintf(out, " | %s | %s |", row->has_first ? ms_gib(row->first_bytes, first) : "-",
            row->has_second ? ms_gib(row->second_bytes, second) : "-");
    if (row->is_known)
        fprintf(out, " %+" PRId64 " |", row->residual);
    else
        fputs(" - |", out);
    write_share(out, row->of_peak);
    write_share(out, row->of_residual);
    fputc('\n', out);
}

static void write_table(FILE *out, const ms_compare_view *v, ms_compare_table table)
{
    const ms_compare_rows *rows = &v->tables[table];
    uint32_t count = rows->count > MOST_ROWS ? MOST_ROWS : rows->count;
    if (count == 0)
        return;
    fprintf(out,
            "\n## %s\n\n| | first, GiB | second, GiB | difference, bytes | %% of the first peak | "
            "%% of the difference |\n|---|---:|---:|---:|---:|---:|\n",
            ms_compare_titles[table].title);
    for (uint32_t i = 0; i < count; i++)
        write_row(out, &rows->items[i]);
    if (count < rows->count)
        fprintf(out, "\nAnd %" PRIu32 " more.\n", rows->count - count);
}

static void write_timelines(FILE *out, const ms_compare_parting *p)
{
    if (!p->is_known)
        return;
    fprintf(out,
            "\n## Event by event\n\nAllocations and frees are recorded up to number %" PRIu64
            " of the first step and %" PRIu64 " of the second. ",
            p->first_events, p->second_events);
    if (p->has_parted) {
        fprintf(out, "They diverge after event %" PRIu64 ", at %" PRIu64 ", in ", p->same_event,
                p->event);
        ms_markdown_text(out, p->phase);
        fprintf(out, ", where the first has %" PRIu64 " bytes and the second %" PRIu64 ".\n",
                p->first_bytes, p->second_bytes);
    } else {
        fprintf(out, "They do not diverge: %+" PRId64 " bytes at every event recorded in both.\n",
                p->from_start);
    }
}

bool ms_compare_markdown(FILE *out, const ms_compare_view *v)
{
    fputs("# Two steps side by side\n\n**", out);
    ms_markdown_text(out, v->verdict);
    fputs("**\n", out);
    if (*v->why) {
        fputc('\n', out);
        ms_markdown_text(out, v->why);
        fputs(".\n", out);
    }
    for (uint32_t i = 0; i < v->note_count; i++) {
        fputc('\n', out);
        ms_markdown_text(out, v->notes[i]);
        fputc('\n', out);
    }
    fputs("\n| | report | kind | device | torch |\n|---|---|---|---|---|\n", out);
    write_side(out, "first", v->first);
    write_side(out, "second", v->second);
    for (int i = 0; i < MS_COMPARE_TABLES; i++)
        write_table(out, v, (ms_compare_table)i);
    write_timelines(out, &v->parting);
    return true;
}
