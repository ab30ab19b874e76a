/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/diff/diff_view.h"

#include <stdio.h>

#include "text/size.h"

const char *ms_diff_note(const ms_diff_view *view, int side)
{
    return ms_report_setting(side ? view->diff->b : view->diff->a, "several_gpus");
}

const char *ms_diff_verdict(const ms_report *report, char text[MS_DIFF_VERDICT_TEXT])
{
    if (!report->has_reason)
        return "-";
    snprintf(text, MS_DIFF_VERDICT_TEXT, "%s (%s)",
             ms_fit_verdict_name(ms_reason_verdict(report->reason)),
             ms_fit_reason_name(report->reason));
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
