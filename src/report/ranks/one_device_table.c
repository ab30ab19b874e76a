/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/ranks/one_device_table.h"

#include <inttypes.h>
#include <string.h>

#include "report/kit/category_id.h"
#include "report/kit/html.h"
#include "report/kit/markdown.h"

/* A figure of both; the categories at the peak come first, then the sums. */
typedef struct figure {
    const char *label;
    uint64_t one, rank;
} figure;

enum { MOST_FIGURES = MS_CATEGORY_COUNT + 3, CHANGE_TEXT = MS_GIB_TEXT + 1 };

bool ms_one_device_is_there(const ms_view *view)
{
    return view->advice && (view->advice->one_device.meaning || view->advice->one_device.unknown);
}

static const ms_one_device *one_of(const ms_view *view)
{
    return &view->advice->one_device;
}

/* More than 0.00 in either column. */
static bool is_seen(uint64_t one, uint64_t rank, const ms_view *view)
{
    return ms_is_seen(one > rank ? one : rank, view->summary->peak_memory_bytes);
}

/* In the order of the rank's table, then what it has nothing of. */
static uint32_t categories(const ms_view *view, figure figures[MOST_FIGURES])
{
    const uint64_t *rank = view->ledger->peak->category_bytes, *one = one_of(view)->category_bytes;
    bool is_listed[MS_CATEGORY_COUNT] = {false};
    uint32_t count = 0;
    for (uint32_t i = 0; i < view->category_count; i++)
        for (uint32_t c = 0; c < MS_CATEGORY_COUNT; c++)
            if (view->categories[i].label == ms_category_name((ms_category)c)) {
                if (is_seen(one[c], rank[c], view))
                    figures[count++] = (figure){view->categories[i].label, one[c], rank[c]};
                is_listed[c] = true;
            }
    for (uint32_t c = 0; c < MS_CATEGORY_COUNT; c++)
        if (!is_listed[c] && is_seen(one[c], 0, view))
            figures[count++] = (figure){ms_category_name((ms_category)c), one[c], 0};
    return count;
}

static uint32_t all_figures(const ms_view *view, figure figures[MOST_FIGURES])
{
    const ms_summary *s = view->summary;
    const ms_one_device *one = one_of(view);
    uint32_t count = categories(view, figures);
    figures[count++] = (figure){"allocated", one->peak_bytes, s->peak_memory_bytes};
    if (view->ledger->run->allocator.kind == MS_ALLOCATOR_RAW)
        return count;
    figures[count++] =
        (figure){"reserved by the allocator", one->reserved_bytes, s->reserved_memory_bytes};
    figures[count++] =
        (figure){"on the device, with context", one->device_bytes, s->expected_device_bytes};
    return count;
}

/* "-11.22", "+0.31", "0.00" */
static const char *change_text(const figure *f, char text[CHANGE_TEXT])
{
    char gib[MS_GIB_TEXT], zero[MS_GIB_TEXT];
    ms_gib(f->rank < f->one ? f->one - f->rank : f->rank - f->one, gib);
    bool is_none = strcmp(gib, ms_gib(0, zero)) == 0;
    snprintf(text, CHANGE_TEXT, "%s%s", is_none ? "" : f->rank < f->one ? "-" : "+", gib);
    return text;
}

void ms_one_device_console(const ms_page *page, const void *analysis)
{
    const ms_view *view = analysis;
    figure figures[MOST_FIGURES];
    char one[MS_GIB_TEXT], rank[MS_GIB_TEXT], change[CHANGE_TEXT];
    ms_page_heading(page, "Compared with one device",
                    one_of(view)->unknown ? "" : "  (GiB, each at its own peak)");
    if (one_of(view)->unknown) {
        ms_page_note(page, "not compared:", one_of(view)->unknown);
        return;
    }
    const uint32_t width = ms_page_room(page, 30, 34);
    fprintf(page->out, "  %s%*s%10s%12s%10s%s\n", ms_page_tone(page, MS_TONE_DIM), (int)width, "",
            "this rank", "one device", "change", ms_page_tone(page, MS_TONE_END));
    uint32_t count = all_figures(view, figures);
    for (uint32_t i = 0; i < count; i++) {
        fputs("  ", page->out);
        ms_page_name(page, figures[i].label, width);
        fprintf(page->out, "%10s%12s%10s\n", ms_gib(figures[i].rank, rank),
                ms_gib(figures[i].one, one), change_text(&figures[i], change));
    }
    ms_page_note(page, "one device:", one_of(view)->meaning);
}

void ms_one_device_markdown(FILE *out, const void *analysis)
{
    const ms_view *view = analysis;
    figure figures[MOST_FIGURES];
    fputs("## Compared with one device\n", out);
    if (one_of(view)->unknown) {
        ms_markdown_note(out, "Not compared:", one_of(view)->unknown);
        return;
    }
    ms_markdown_note(out, "One device:", one_of(view)->meaning);
    fputs("\n| at its own peak | this rank | one device | change, GiB |\n|---|---:|---:|---:|\n",
          out);
    uint32_t count = all_figures(view, figures);
    for (uint32_t i = 0; i < count; i++) {
        char change[CHANGE_TEXT];
        fprintf(out, "| %s | %" PRIu64 " | %" PRIu64 " | %s |\n", figures[i].label, figures[i].rank,
                figures[i].one, change_text(&figures[i], change));
    }
}

bool ms_one_device_html(FILE *out, const void *analysis)
{
    const ms_view *view = analysis;
    figure figures[MOST_FIGURES];
    if (one_of(view)->unknown) {
        ms_html_note(out, "Not compared:", one_of(view)->unknown);
        return true;
    }
    ms_html_note(out, "One device:", one_of(view)->meaning);
    ms_html_table(out, "", "Each at its own peak", "what|#this rank|#one device|#change, GiB");
    uint32_t count = all_figures(view, figures);
    for (uint32_t i = 0; i < count; i++) {
        char change[CHANGE_TEXT];
        fprintf(out, "<tr><th scope=\"row\">%s</th>", figures[i].label);
        ms_html_bytes_cell(out, figures[i].rank);
        ms_html_bytes_cell(out, figures[i].one);
        fprintf(out, "<td class=\"n\">%s</td></tr>\n", change_text(&figures[i], change));
    }
    ms_html_end_table(out);
    return true;
}

void ms_one_device_json(ms_json_writer *w, const char *name, const void *of)
{
    const ms_view *view = of;
    if (!ms_one_device_is_there(view))
        return;
    const ms_one_device *one = one_of(view);
    ms_json_object(w, name);
    if (one->unknown) {
        ms_json_string(w, "not_compared", one->unknown);
        ms_json_close(w);
        return;
    }
    ms_json_string(w, "meaning", one->meaning);
    ms_json_object(w, "peak_categories");
    for (uint32_t c = 0; c < MS_CATEGORY_COUNT; c++)
        ms_json_uint(w, ms_json_category((uint8_t)c), one->category_bytes[c]);
    ms_json_close(w);
    ms_json_uint(w, "peak_memory_bytes", one->peak_bytes);
    ms_json_uint(w, "reserved_memory_bytes", one->reserved_bytes);
    ms_json_uint(w, "expected_device_bytes", one->device_bytes);
    ms_json_close(w);
}
