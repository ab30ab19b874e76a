/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/diff/diff_report.h"

#include <errno.h>

#include "text/formats.h"
#include "report/diff/diff_formats.h"

static const struct reporter {
    ms_report_format format;
    void (*write)(FILE *out, const ms_diff_view *view);
} reporters[] = {
    {{"console", "for people, at a terminal", "diff.txt"}, ms_diff_console},
    {{"json", "every row, for programs", "diff.json"}, ms_diff_json},
    {{"md", "for people, as Markdown", "diff.md"}, ms_diff_markdown},
    {{"html", "a page in one file", "diff.html"}, ms_diff_html},
};
static const ms_formats formats = MS_FORMATS("a comparison", reporters);

const ms_report_format *ms_comparison_format_at(size_t index)
{
    return ms_formats_at(&formats, index);
}

/* A plan has no range of what the device shows. */
static void fill_figures(ms_diff_view *view)
{
    const ms_report *a = view->diff->a, *b = view->diff->b;
    const struct row {
        bool is_range;
        ms_diff_figure figure;
    } rows[MS_DIFF_FIGURES] = {
        {false, {"peak, allocated", "peak_memory_bytes", a->peak_bytes, b->peak_bytes}},
        {false, {"reserved", "reserved_memory_bytes", a->reserved_bytes, b->reserved_bytes}},
        {true, {"on the device, at least", "low_device_bytes", a->low_bytes, b->low_bytes}},
        {false,
         {"on the device, expected", "expected_device_bytes", a->expected_bytes,
          b->expected_bytes}},
        {true, {"on the device, at most", "high_device_bytes", a->high_bytes, b->high_bytes}},
        {false, {"on the host", "host_memory_bytes", a->host_bytes, b->host_bytes}},
    };
    for (size_t i = 0; i < MS_DIFF_FIGURES; i++)
        if (!rows[i].is_range || !(a->is_plan || b->is_plan))
            view->figures[view->figure_count++] = rows[i].figure;
}

ms_status ms_diff_report_write(const ms_diff *diff, const char *a_name, const char *b_name,
                               const ms_style *style, const char *format, FILE *out, ms_error *err)
{
    ms_diff_view view = {.diff = diff, .a_name = a_name, .b_name = b_name, .style = *style};
    const struct reporter *reporter = ms_formats_find(&formats, format, err);
    if (!reporter)
        return MS_ERR_USAGE;
    fill_figures(&view);
    errno = 0;
    reporter->write(out, &view);
    return ms_formats_finish(out, "the comparison", err);
}
