/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/compare/compare_report.h"

#include <string.h>

#include "base/error.h"
#include "compare/compare_parting.h"
#include "compare/compare_rows.h"
#include "compare/compare_verdict.h"

static const struct format {
    const char *name;
    void (*write)(FILE *out, const ms_compare_view *view);
} formats[] = {
    {"console", ms_compare_console},
    {"json", ms_compare_json},
    {"md", ms_compare_markdown},
    {"html", ms_compare_html},
};
enum { FORMATS = sizeof formats / sizeof formats[0] };

const char *ms_compare_format_name(size_t index)
{
    return index < FORMATS ? formats[index].name : NULL;
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
    size_t i = 0;
    while (i < FORMATS && strcmp(formats[i].name, format) != 0)
        i++;
    if (i == FORMATS)
        return ms_fail(err, MS_ERR_USAGE, "no format \"%.40s\"", format);
    ms_arena *arena = ms_arena_create(0);
    if (!arena)
        return ms_fail(err, MS_ERR_NOMEM, "out of memory for a comparison");
    ms_status status = ms_compare_view_make(arena, first, second, &view, err);
    if (status == MS_OK)
        formats[i].write(out, &view);
    ms_arena_free(arena);
    return status;
}
