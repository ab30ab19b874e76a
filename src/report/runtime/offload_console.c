/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * An offload by ratio as console text: what to do, then a table of what is predicted, and one of
 * what was measured.
 */
#include "base/locale.h"
#include "report/kit/list_table.h"
#include "report/kit/writer_list.h"
#include "report/runtime/offload_view.h"
#include "report/view/fit_words.h"
#include "base/text/number.h"

static void write_head(const ms_offload_view *v, const ms_page *page)
{
    char total[MS_GIB_TEXT];
    char text[256];
    snprintf(text, sizeof text, "offloaded by ratio, predicted for %s", v->run->device->name);
    ms_page_subject(page, ms_offload_model(v), text);
    if (v->backend)
        ms_page_say(page, "measured on %s: %s, %s GiB", v->facts->title, v->facts->versions,
                    ms_gib(v->facts->total_bytes, total));
}

static void write_tags(const ms_offload_view *v, const ms_page *page)
{
    char total[MS_GIB_TEXT];
    fputc('\n', page->out);
    for (uint32_t i = 0; i < v->tags->count; i++) {
        const ms_offload_tag *tag = &v->tags->items[i];
        char ratio[32] = "as below";
        if (tag->has_ratio)
            ms_text_print(ratio, sizeof ratio, "%g", tag->ratio);
        ms_page_say(page, "tag %s: %s GiB saved in a pass, ratio %s", tag->name,
                    ms_gib(v->rows->items[0].bytes[i].total_bytes, total), ratio);
    }
}

/* Shares of time go first, then what the host holds. */
#define COLUMNS(last)                                                                              \
    {                                                                                              \
        {"ratio", 2, 6, 0, true}, {"allocated", 1, 10, 0, true}, {"reserved", 1, 10, 0, true},     \
            {"host", 1, 10, 3, true}, {"step", 1, 11, 0, true}, {"waiting", 1, 11, 1, true},       \
            {"link", 1, 6, 2, true}, {last, 2, 0, 0, false},                                       \
    }
enum { LAST = 7 }; /* columns before the last one */

static void put_ratio(const ms_offload_view *v, ms_list_table *list, const ms_offload_row *row)
{
    char text[32] = "fixed";
    if (v->is_swept)
        ms_text_print(text, sizeof text, "%.4g", row->ratio);
    ms_list_put(list, text);
}

static void put_figures(ms_list_table *list, const ms_offload_figures *f)
{
    const double times[] = {f->step_ms, f->exposed_ms, ms_offload_link_use(f) * 100};
    char text[MS_GIB_TEXT + 32];
    ms_list_put(list, ms_gib(f->peak_bytes, text));
    ms_list_put(list, ms_gib(f->reserved_bytes, text));
    ms_list_put(list, ms_gib(f->host_bytes, text));
    for (int i = 0; i < 3; i++) {
        ms_text_print(text, sizeof text, i < 2 ? "%.2f" : "%.1f", times[i]);
        ms_list_put(list, f->has_times ? text : "-");
    }
}

static void write_heading(const ms_page *page, const char *title)
{
    ms_page_heading(page, title, "  (GiB; ms; share of the step in %)");
}

static bool write_predicted(const ms_offload_view *v, const ms_page *page)
{
    static const ms_list_column columns[] = COLUMNS("fits");
    const bool is_limited = v->run->budget_bytes > 0;
    ms_list_table list = ms_list_begin(columns, LAST + is_limited);
    write_heading(page, "Predicted");
    for (uint32_t i = 0; i < v->rows->count; i++) {
        const ms_offload_row *row = &v->rows->items[i];
        put_ratio(v, &list, row);
        put_figures(&list, &row->predicted);
        if (is_limited)
            ms_list_put(&list, ms_fit_cell(row->reason));
    }
    return ms_list_end(&list, page, page->columns);
}

static void write_findings(const ms_offload_view *v, const ms_page *page, uint32_t measured,
                           uint32_t apart)
{
    if (measured == 0)
        return;
    fputc('\n', page->out);
    ms_page_paragraph(page, apart ? "the bytes of some ratios differ from what was predicted"
                                  : "all bytes are equal to what was predicted");
    if (v->is_memory_only)
        ms_page_say(page, "memory only: allocations and releases, no operators, no copies");
    else if (v->facts->is_simulated)
        ms_page_say(page, "nothing runs on this device: no time is measured");
    else if (!v->is_same_device)
        ms_page_say(page, "measured times are of this device, and predicted ones of another");
}

static bool write_measured(const ms_offload_view *v, const ms_page *page)
{
    static const ms_list_column columns[] = COLUMNS("bytes");
    ms_list_table list = ms_list_begin(columns, LAST + 1);
    uint32_t apart = 0, measured = 0;
    write_heading(page, "Measured");
    for (uint32_t i = 0; i < v->rows->count; i++) {
        const ms_offload_row *row = &v->rows->items[i];
        put_ratio(v, &list, row);
        for (int k = 1; row->is_full && k < LAST; k++)
            ms_list_put(&list, "-");
        if (!row->is_full)
            put_figures(&list, &row->measured);
        ms_list_put(&list, row->is_full ? "full" : ms_offload_differs(row) ? "differ" : "equal");
        apart += !row->is_full && ms_offload_differs(row);
        measured += !row->is_full;
    }
    bool ok = ms_list_end(&list, page, page->columns);
    write_findings(v, page, measured, apart);
    return ok;
}

bool ms_offload_console(FILE *out, const ms_offload_view *v)
{
    const ms_page page = ms_page_begin(out, v->style);
    char text[MS_OFFLOAD_TEXT];
    write_head(v, &page);
    fputc('\n', out);
    ms_page_paragraph(&page, ms_offload_decision(v, text));
    ms_page_paragraph(&page, ms_offload_about_link(v, text));
    if (v->status != MS_OK) {
        ms_page_note(&page, "partial:", v->message ? v->message : "");
    }
    write_tags(v, &page);
    return write_predicted(v, &page) && (!v->backend || write_measured(v, &page));
}
