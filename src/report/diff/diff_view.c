/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/diff/diff_view.h"

#include <stdio.h>

#include "base/text/number.h"
#include "base/text/size.h"

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

ms_diff_view ms_diff_view_make(const ms_diff *diff, const char *a_name, const char *b_name,
                               const ms_style *style)
{
    ms_diff_view view = {.diff = diff, .a_name = a_name, .b_name = b_name, .style = *style};
    fill_figures(&view);
    return view;
}

const char *ms_diff_why(const ms_diff_view *view, char text[MS_DIFF_WHY_TEXT])
{
    enum { MOST_PARTS = 3 };
    const ms_diff *diff = view->diff;
    char change[MS_CHANGE_TEXT];
    int length = 0;
    *text = '\0';
    for (uint32_t i = 0; i < diff->tables[MS_DIFF_CATEGORIES].count && i < MOST_PARTS; i++) {
        const ms_part_change *row = &diff->tables[MS_DIFF_CATEGORIES].items[i];
        length += snprintf(text + length, MS_DIFF_WHY_TEXT - (size_t)length, "%s%.40s %s",
                           i ? ", " : "at the peak, ", row->name,
                           ms_change_text(row->a_bytes, row->b_bytes, change));
    }
    return text;
}

const char *ms_diff_note(const ms_diff_view *view, int side)
{
    return ms_report_setting(side ? view->diff->b : view->diff->a, "several_gpus");
}

const char *ms_diff_verdict(const ms_report *report, char text[MS_DIFF_VERDICT_TEXT])
{
    char gib[MS_GIB_TEXT], budget[MS_GIB_TEXT];
    const bool has_budget = report->budget_bytes > 0;
    if (!report->has_reason)
        return "-";
    ms_fit_verdict verdict = ms_reason_verdict(report->reason);
    snprintf(text, MS_DIFF_VERDICT_TEXT, "%s %s%s%s GiB%s%.64s",
             report->reason == MS_FIT_NO_BUDGET ? "needs"
             : verdict == MS_VERDICT_NO         ? "does not fit,"
             : verdict == MS_VERDICT_TIGHT      ? "tight,"
                                                : "fits,",
             ms_gib(report->expected_bytes, gib), has_budget ? " of " : "",
             has_budget ? ms_gib(report->budget_bytes, budget) : "", *report->device ? " on " : "",
             report->device);
    return text;
}

const char *ms_change_text(uint64_t a_bytes, uint64_t b_bytes, char text[MS_CHANGE_TEXT])
{
    char size[MS_SIZE_TEXT_BYTES];
    bool more = b_bytes > a_bytes;
    ms_size_format(more ? b_bytes - a_bytes : a_bytes - b_bytes, size, sizeof size);
    snprintf(text, MS_CHANGE_TEXT, "%s%s", a_bytes == b_bytes ? "" : more ? "+" : "-", size);
    return text;
}

const char *ms_values_text(const ms_field_change *change, char text[MS_VALUES_TEXT])
{
    snprintf(text, MS_VALUES_TEXT, "%.72s -> %.72s", change->a ? change->a : "-",
             change->b ? change->b : "-");
    return text;
}
