/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/plan/plan_report.h"

#include <errno.h>

#include "text/formats.h"
#include "report/plan/plan_view.h"

typedef bool (*writer)(FILE *out, const ms_plan_view *view);

typedef struct reporter {
    ms_report_format format;
    writer plan, curve; /* NULL: there is none */
    bool is_detailed;   /* of a plan: shows the step as planned */
} reporter;

/* clang-format off */
static const reporter reporters[] = {
    {{"console", "for people, at a terminal",          "plan.txt"},  ms_plan_console,  ms_curve_console,  false},
    {{"json",    "the whole plan, for programs",       "plan.json"}, ms_plan_json,     ms_curve_json,     false},
    {{"md",      "for people, as Markdown",            "plan.md"},   ms_plan_markdown, ms_curve_markdown, false},
    {{"csv",     "the points of --curve, one per line",  "curve.csv"}, NULL,             ms_curve_csv,      false},
    {{"svg",     "--curve as a picture",               "curve.svg"}, NULL,             ms_curve_svg,      false},
    {{"html",    "a page with pictures, for a browser", "plan.html"}, ms_plan_html,    ms_plan_html,      true},
};
/* clang-format on */
static const ms_formats formats = MS_FORMATS("a plan", reporters);

const ms_report_format *ms_plan_format_at(size_t index)
{
    return ms_formats_at(&formats, index);
}

bool ms_plan_format_is_detailed(const char *format)
{
    const reporter *row = ms_formats_find(&formats, format, NULL);
    return row && row->is_detailed;
}

static ms_status find_writer(const ms_plan_answer *answer, const char *format, writer *found,
                             ms_error *err)
{
    const reporter *row = ms_formats_find(&formats, format, err);
    if (!row)
        return MS_ERR_USAGE;
    *found = answer->curve ? row->curve : row->plan;
    if (*found == ms_curve_svg && answer->task->run->device->has_assumed_rates)
        return ms_fail(err, MS_ERR_USAGE,
                       "svg draws times, but the rates of %s are not known; console, json, md, "
                       "csv and html do not need them",
                       answer->task->run->device->name);
    if (!*found)
        return ms_fail(err, MS_ERR_USAGE, "%s is for --curve; a plan is console, json, md or html",
                       format);
    return MS_OK;
}

ms_status ms_plan_report_write(const ms_plan_answer *answer, const char *format, FILE *out,
                               ms_error *err)
{
    writer write;
    ms_plan_view view;
    ms_status status = find_writer(answer, format, &write, err);
    if (status == MS_OK)
        status = ms_plan_view_create(answer, &view, err);
    if (status != MS_OK)
        return status;
    errno = 0;
    bool written = write(out, &view);
    ms_plan_view_free(&view);
    if (!written)
        return ms_fail(err, MS_ERR_NOMEM, "no memory for the %s report", format);
    return ms_formats_finish(out, "the plan", err);
}
