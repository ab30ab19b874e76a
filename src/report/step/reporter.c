/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/step/reporter.h"

#include <errno.h>
#include <string.h>

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
enum { REPORTER_COUNT = sizeof reporters / sizeof reporters[0], MOST_NAMES = 160 };

const ms_report_format *ms_report_format_at(size_t index)
{
    return index < REPORTER_COUNT ? &reporters[index].format : NULL;
}

/* "console, json and md" */
static const char *list_formats(char text[MOST_NAMES])
{
    int length = 0;
    for (size_t i = 0; i < REPORTER_COUNT && length < MOST_NAMES; i++)
        length += snprintf(text + length, (size_t)(MOST_NAMES - length), "%s%s",
                           i == 0                   ? ""
                           : i + 1 < REPORTER_COUNT ? ", "
                                                    : " and ",
                           reporters[i].format.name);
    return text;
}

const ms_reporter *ms_reporter_find(const char *format, ms_error *err)
{
    for (size_t i = 0; i < REPORTER_COUNT; i++)
        if (strcmp(format, reporters[i].format.name) == 0)
            return &reporters[i];
    ms_error_set(err, MS_ERR_USAGE, "no report format \"%.40s\"; there are %s", format,
                 list_formats((char[MOST_NAMES]){0}));
    return NULL;
}

ms_status ms_report_write(const ms_reporter *reporter, const ms_view *view, FILE *out,
                          ms_error *err)
{
    errno = 0;
    if (!reporter->write(out, view) || ms_arena_has_failed(view->arena))
        return ms_fail(err, MS_ERR_NOMEM, "no memory for the %s report", reporter->format.name);
    if (fflush(out) != 0 || ferror(out))
        return ms_fail(err, errno == ENOMEM ? MS_ERR_NOMEM : MS_ERR_IO,
                       "cannot write the %s report: %s", reporter->format.name,
                       errno ? strerror(errno) : "the output failed");
    return MS_OK;
}
