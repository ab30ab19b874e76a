/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * An offload by ratio as console text: what to do, then a table of what is predicted, and one of
 * what was measured.
 */
#include "base/locale.h"
#include "base/printable.h"
#include "report/kit/writer_list.h"
#include "report/runtime/offload_view.h"
#include "report/view/fit_words.h"
#include "text/number.h"

static void write_head(const ms_offload_view *v, const ms_page *page)
{
    char total[MS_GIB_TEXT];
    fputs(ms_page_tone(page, MS_TONE_BOLD), page->out);
    ms_put_printable(page->out, ms_offload_model(v));
    fputs(ms_page_tone(page, MS_TONE_END), page->out);
    ms_page_put(page, " offloaded by ratio, predicted for %s", v->run->device->name);
    fputc('\n', page->out);
    if (!v->backend)
        return;
    ms_page_put(page, "  measured on %s: %s", v->facts->title, v->facts->versions);
    fprintf(page->out, ", %s GiB\n", ms_gib(v->facts->total_bytes, total));
}

static void write_tags(const ms_offload_view *v, const ms_page *page)
{
    char total[MS_GIB_TEXT];
    fputc('\n', page->out);
    for (uint32_t i = 0; i < v->tags->count; i++) {
        const ms_offload_tag *tag = &v->tags->items[i];
        ms_page_put(page, "  tag %s: ", tag->name);
        fprintf(page->out, "%s GiB saved in a pass, ",
                ms_gib(v->rows->items[0].bytes[i].total_bytes, total));
        if (tag->has_ratio)
            ms_file_print(page->out, "ratio %g\n", tag->ratio);
        else
            fputs("ratio as below\n", page->out);
    }
}

static void write_ratio(const ms_offload_view *v, const ms_page *page, const ms_offload_row *row)
{
    if (v->is_swept)
        ms_file_print(page->out, "  %6.4g", row->ratio);
    else
        fprintf(page->out, "  %6s", "fixed");
}

static void write_figures(const ms_page *page, const ms_offload_figures *f)
{
    char peak[MS_GIB_TEXT], reserved[MS_GIB_TEXT], host[MS_GIB_TEXT];
    fprintf(page->out, " %10s %10s %10s", ms_gib(f->peak_bytes, peak),
            ms_gib(f->reserved_bytes, reserved), ms_gib(f->host_bytes, host));
    if (f->has_times)
        ms_file_print(page->out, " %11.2f %11.2f %6.1f", f->step_ms, f->exposed_ms,
                      ms_offload_link_use(f) * 100);
    else
        fprintf(page->out, " %11s %11s %6s", "-", "-", "-");
}

static void write_columns(const ms_page *page, const char *title, const char *last)
{
    ms_page_heading(page, title, "  (GiB; ms; share of the step in %)");
    fprintf(page->out, "  %6s %10s %10s %10s %11s %11s %6s  %s\n", "ratio", "allocated", "reserved",
            "host", "step", "waiting", "link", last);
}

static void write_predicted(const ms_offload_view *v, const ms_page *page)
{
    write_columns(page, "Predicted", v->run->budget_bytes ? "fits" : "");
    for (uint32_t i = 0; i < v->rows->count; i++) {
        const ms_offload_row *row = &v->rows->items[i];
        write_ratio(v, page, row);
        write_figures(page, &row->predicted);
        fprintf(page->out, "%s%s\n", v->run->budget_bytes ? "  " : "",
                v->run->budget_bytes ? ms_fit_cell(row->reason) : "");
    }
}

static void write_measured(const ms_offload_view *v, const ms_page *page)
{
    uint32_t apart = 0, measured = 0;
    write_columns(page, "Measured", "bytes");
    for (uint32_t i = 0; i < v->rows->count; i++) {
        const ms_offload_row *row = &v->rows->items[i];
        write_ratio(v, page, row);
        if (row->is_full) {
            fputs("  the device is full\n", page->out);
            continue;
        }
        write_figures(page, &row->measured);
        fputs(ms_offload_differs(row) ? "  differ\n" : "  equal\n", page->out);
        apart += ms_offload_differs(row);
        measured++;
    }
    if (measured == 0)
        return;
    fprintf(page->out, "\n  %s\n",
            apart ? "the bytes of some ratios differ from what was predicted"
                  : "all bytes are equal to what was predicted");
    if (v->is_memory_only)
        fputs("  memory only: allocations and releases, no operators, no copies\n", page->out);
    else if (v->facts->is_simulated)
        fputs("  nothing runs on this device: no time is measured\n", page->out);
    else if (!v->is_same_device)
        fputs("  measured times are of this device, and predicted ones of another\n", page->out);
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
        ms_page_put(&page, "  partial: %s", v->message ? v->message : "");
        fputc('\n', out);
    }
    write_tags(v, &page);
    write_predicted(v, &page);
    if (v->backend)
        write_measured(v, &page);
    return true;
}
