/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/ranks/communication.h"

#include <inttypes.h>
#include <math.h>

#include "report/kit/html.h"
#include "report/kit/markdown.h"
#include "core/trace/words.h"

/* Work of one kind over one link. */
typedef struct row {
    const char *kind, *link, *link_id;
    const ms_profile_work *work;
} row;

enum { MOST_ROWS = MS_WORK_KINDS * MS_LINK_COUNT };

static const ms_layout *layout_of(const ms_view *view)
{
    return &view->ledger->run->parallel.layout;
}

static uint32_t rows_of(const ms_view *view, row rows[MOST_ROWS])
{
    uint32_t count = 0;
    for (int kind = 0; kind < MS_WORK_KINDS; kind++)
        for (int link = 0; link < MS_LINK_COUNT; link++) {
            const ms_profile_work *work = &view->ledger->profile->communication[kind][link];
            bool is_near = link == MS_LINK_PEER;
            if (work->calls)
                rows[count++] =
                    (row){ms_work_words.items[kind], is_near ? "within a host" : "between hosts",
                          is_near ? "within_host" : "between_hosts", work};
        }
    return count;
}

void ms_collective_text(const ms_trace *trace, const ms_work *work, char name[MS_COLLECTIVE_TEXT],
                        char module[MS_COLLECTIVE_TEXT])
{
    enum { PATH = 256 };
    *module = '\0';
    if (work->ranks && work->scope != MS_NONE)
        ms_trace_scope_path(trace, work->scope, module, PATH);
    snprintf(name, MS_COLLECTIVE_TEXT, "%s%s%.255s (%" PRIu64 " ranks)",
             ms_work_words.items[work->kind], *module ? " " : "", module, work->ranks);
}

bool ms_communication_is_there(const ms_view *view)
{
    row rows[MOST_ROWS];
    return rows_of(view, rows) > 0;
}

static bool is_between_hosts(const ms_view *view)
{
    for (int kind = 0; kind < MS_WORK_KINDS; kind++)
        if (view->ledger->profile->communication[kind][MS_LINK_NONE].calls)
            return true;
    return false;
}

/* Work over one link delays that over others, so all rates must be known. */
static const char *why_untimed(const ms_view *view)
{
    if (ms_layout_has_stages(layout_of(view)))
        return "a pipeline's ranks wait for each other, and how long is not predicted";
    if (!(view->summary->step_time_ms > 0))
        return "the times of this device are not known";
    if (is_between_hosts(view) && !(view->ledger->run->device->network_bytes_per_s > 0))
        return "the rate of the link between hosts is not known (--network)";
    if (!(view->ledger->run->device->peer_link_bytes_per_s > 0))
        return "the rate of the link between these devices is not known";
    return NULL;
}

static const char *what_is_missing(const ms_view *view)
{
    return ms_layout_has_stages(layout_of(view)) ? "traffic between pipeline stages is not counted"
                                                 : NULL;
}

/* "1.234", or "-" */
static const char *exposed_text(const row *r, const char *why, char text[MS_FIXED_TEXT])
{
    return ms_fixed(why ? NAN : r->work->exposed_ms, 3, text);
}

static void write_row(const ms_page *page, const row *r, const char *why, uint32_t width)
{
    char gib[MS_GIB_TEXT], exposed[MS_FIXED_TEXT];
    fputs("  ", page->out);
    ms_page_name(page, r->kind, width);
    fprintf(page->out, "%10s%8" PRIu64 "%12s  %s\n", ms_gib(r->work->bytes, gib), r->work->calls,
            why ? "" : exposed_text(r, why, exposed), r->link);
}

void ms_communication_console(const ms_page *page, const void *analysis)
{
    const ms_view *view = analysis;
    row rows[MOST_ROWS];
    uint32_t count = rows_of(view, rows);
    const char *why = why_untimed(view), *missing = what_is_missing(view);
    ms_page_heading(page, "Communication of a step", "  (GiB through this rank's link)");
    const uint32_t width = ms_page_room(page, 24, 49);
    fprintf(page->out, "  %s%*s%10s%8s%12s  %s%s\n", ms_page_tone(page, MS_TONE_DIM), (int)width,
            "", "GiB", "calls", why ? "" : "exposed ms", "link", ms_page_tone(page, MS_TONE_END));
    for (uint32_t i = 0; i < count; i++)
        write_row(page, &rows[i], why, width);
    if (why)
        ms_page_note(page, "no exposed time:", why);
    else
        ms_page_paragraph(page, "exposed: time that the step waits for them");
    if (missing)
        ms_page_paragraph(page, missing);
}

void ms_communication_markdown(FILE *out, const void *analysis)
{
    const ms_view *view = analysis;
    row rows[MOST_ROWS];
    char exposed[MS_FIXED_TEXT];
    uint32_t count = rows_of(view, rows);
    const char *why = why_untimed(view), *missing = what_is_missing(view);
    fputs("## Communication of a step\n\n"
          "| collective | link | calls | bytes through this rank's link | exposed ms |\n"
          "|---|---|---:|---:|---:|\n",
          out);
    for (uint32_t i = 0; i < count; i++)
        fprintf(out, "| %s | %s | %" PRIu64 " | %" PRIu64 " | %s |\n", rows[i].kind, rows[i].link,
                rows[i].work->calls, rows[i].work->bytes, exposed_text(&rows[i], why, exposed));
    if (why)
        ms_markdown_note(out, "No exposed time:", why);
    if (missing)
        ms_markdown_note(out, "Note:", missing);
}

bool ms_communication_html(FILE *out, const void *analysis)
{
    const ms_view *view = analysis;
    row rows[MOST_ROWS];
    uint32_t count = rows_of(view, rows);
    const char *why = why_untimed(view), *missing = what_is_missing(view);
    ms_html_table(out, "", "Through this rank's link; exposed: time that the step waits",
                  "collective|link|#calls|#bytes|#exposed ms");
    for (uint32_t i = 0; i < count; i++) {
        fprintf(out, "<tr><th scope=\"row\">%s</th>", rows[i].kind);
        ms_html_cell(out, rows[i].link);
        ms_html_count_cell(out, rows[i].work->calls);
        ms_html_bytes_cell(out, rows[i].work->bytes);
        ms_html_number_cell(out, why ? NAN : rows[i].work->exposed_ms, 3);
        fputs("</tr>\n", out);
    }
    ms_html_end_table(out);
    if (why)
        ms_html_note(out, "No exposed time:", why);
    if (missing)
        ms_html_note(out, "Note:", missing);
    return true;
}

void ms_communication_json(ms_json_writer *w, const char *name, const void *of)
{
    const ms_view *view = of;
    row rows[MOST_ROWS];
    uint32_t count = rows_of(view, rows);
    bool is_timed = !why_untimed(view);
    if (count == 0)
        return;
    ms_json_array(w, name);
    for (uint32_t i = 0; i < count; i++) {
        ms_json_object(w, NULL);
        ms_json_string(w, "kind", rows[i].kind);
        ms_json_string(w, "link", rows[i].link_id);
        ms_json_uint(w, "calls", rows[i].work->calls);
        ms_json_uint(w, "link_bytes", rows[i].work->bytes);
        ms_json_double(w, "exposed_ms", is_timed ? rows[i].work->exposed_ms : NAN, 3);
        ms_json_close(w);
    }
    ms_json_close(w);
}
