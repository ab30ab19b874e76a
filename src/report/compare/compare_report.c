/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/compare/compare_report.h"

#include "text/formats.h"
#include "compare/compare_parting.h"
#include "compare/compare_rows.h"
#include "compare/compare_verdict.h"

static const struct writer {
    ms_report_format format;
    void (*write)(FILE *out, const ms_compare_view *view);
} writers[] = {
    {{"console", "for people, at a terminal", "compare.txt"}, ms_compare_console},
    {{"json", "every row, for programs", "compare.json"}, ms_compare_json},
    {{"md", "for people, as Markdown", "compare.md"}, ms_compare_markdown},
    {{"html", "a page in one file", "compare.html"}, ms_compare_html},
};
static const ms_formats formats = MS_FORMATS("a comparison", writers);

const char *ms_compare_format_name(size_t index)
{
    return ms_formats_name_at(&formats, index);
}

ms_status ms_compare_view_make(ms_arena *arena, const ms_recorded *first, const ms_recorded *second,
                               ms_compare_view *view, ms_error *err)
{
    *view = (ms_compare_view){.first = first, .second = second, .arena = arena};
    bool ok = ms_compare_rows_make(view);
    if (ok)
        ms_compare_parting_find(view);
    ok = ok && ms_compare_verdict_make(view);
    return ok ? MS_OK : ms_fail(err, MS_ERR_NOMEM, "out of memory for a comparison");
}

ms_status ms_compare_report(const ms_recorded *first, const ms_recorded *second, const char *format,
                            FILE *out, ms_error *err)
{
    ms_compare_view view;
    const struct writer *writer = ms_formats_find(&formats, format, err);
    if (!writer)
        return MS_ERR_USAGE;
    ms_arena *arena = ms_arena_create(0);
    if (!arena)
        return ms_fail(err, MS_ERR_NOMEM, "out of memory for a comparison");
    ms_status status = ms_compare_view_make(arena, first, second, &view, err);
    if (status == MS_OK)
        writer->write(out, &view);
    ms_arena_free(arena);
    return status;
}
