/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/step/reporter.h"

#include <errno.h>

#include "text/formats.h"

/* clang-format off */
static const ms_reporter reporters[] = {
    {{"console",      "for people, at a terminal",                     "static_report.txt"},             true,  ms_report_console},
    {{"json",         "the whole report, for programs",                "static_report.json"},            true,  ms_report_json},
    {{"md",           "for people, as Markdown",                       "static_report.md"},              true,  ms_report_markdown},
    {{"csv",          "the operator records, one per line",              "static_report.csv"},             false, ms_report_csv},
    {{"html",         "a page with pictures, for a browser",           "static_report.html"},            true,  ms_report_html},
    {{"svg",          "timeline and peak as a picture",                "static_report.svg"},             false, ms_report_svg},
    {{"chrome-trace", "the step, for Perfetto and chrome://tracing",   "static_report.trace.json"},      false, ms_report_chrome_trace},
    {{"memory-viz",   "a snapshot, for PyTorch's memory viewer",       "static_report.pickle"},          false, ms_report_memory_viz},
    {{"speedscope",   "the peak as a flame graph, for speedscope.app", "static_report.speedscope.json"}, false, ms_report_speedscope},
    {{"folded",       "the peak as folded stacks, for flamegraph.pl",  "static_report.folded"},          false, ms_report_folded},
    {{"trace",        "every allocation and operator, as JSON lines",  "static_report.trace.jsonl"},     false, ms_report_trace},
};
/* clang-format on */
static const ms_formats formats = MS_FORMATS("a report", reporters);

const ms_report_format *ms_report_format_at(size_t index)
{
    return ms_formats_at(&formats, index);
}

const ms_reporter *ms_reporter_find(const char *format, ms_error *err)
{
    return ms_formats_find(&formats, format, err);
}

ms_status ms_report_write(const ms_reporter *reporter, const ms_view *view, FILE *out,
                          ms_error *err)
{
    errno = 0;
    if (!reporter->write(out, view) || ms_arena_has_failed(view->arena))
        return ms_fail(err, MS_ERR_NOMEM, "no memory for the %s report", reporter->format.name);
    char what[64];
    snprintf(what, sizeof what, "the %s report", reporter->format.name);
    return ms_formats_finish(out, what, err);
}
