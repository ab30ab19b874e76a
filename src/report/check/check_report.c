/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/check/check_report.h"

#include <errno.h>
#include <inttypes.h>

#include "text/formats.h"
#include "gate/wording.h"
#include "report/check/check_channels.h"

/* clang-format off */
static const struct channel {
    ms_report_format format;
    void (*write)(FILE *out, const ms_check_view *view);
} channels[] = {
    {{"console",                   "for people, at a terminal",             "check.txt"},         ms_check_console},
    {{"human",                     "the same",                              "check.txt"},         ms_check_console},
    {{"json",                      "every verdict, for programs",           "check.json"},        ms_check_json},
    {{"md",                        "for people, as Markdown",               "check.md"},          ms_check_markdown},
    {{"junit",                     "a test suite, as XML",                  "check.xml"},         ms_check_junit},
    {{"github",                    "annotations of a GitHub workflow",      "check.github"},      ms_check_github},
    {{"sarif",                     "for code scanning",                     "check.sarif"},       ms_check_sarif},
    {{"gitlab",                    "a code quality report",                 "gl-code-quality-report.json"}, ms_check_gitlab},
    {{"custom-smaller-is-better",  "for charts of a benchmark action",      "benchmark.json"},    ms_check_benchmark},
    {{"shields",                   "a badge's endpoint",                    "badge.json"},        ms_check_shields},
    {{"prometheus",                "a textfile for the node exporter",      "memscope.prom"},     ms_check_prometheus},
};
/* clang-format on */
static const ms_formats formats = MS_FORMATS("a check", channels);

const ms_report_format *ms_check_format_at(size_t index)
{
    return ms_formats_at(&formats, index);
}

/* ---- the view ---- */

static const char *fix_of(ms_arena *arena, const ms_verdict *v)
{
    if (v->outcome != MS_OUTCOME_OVER || (!v->fix && !v->has_no_fix))
        return "";
    return v->fix ? ms_arena_printf(arena, "This fits again: %s", v->fix)
                  : "No plan was found that fits";
}

/* With the calibration, where the figures have one, and what they leave out of several GPUs. */
static const char *text_of(ms_arena *arena, const ms_verdict *v)
{
    const char *text = ms_verdict_text(arena, v);
    const char *calibration = ms_report_setting(&v->report, "calibration");
    const char *several = ms_report_setting(&v->report, "several_gpus");
    if (text && calibration)
        text = ms_arena_printf(arena, "%s (calibrated with %.40s)", text, calibration);
    return text && several ? ms_arena_printf(arena, "%s. Note: %s", text, several) : text;
}

static bool fill_row(ms_arena *arena, const ms_verdict *v, ms_check_row *row)
{
    row->verdict = v;
    row->text = text_of(arena, v);
    row->changes = ms_verdict_changes(arena, v);
    row->fix = fix_of(arena, v);
    if (row->text && row->changes && row->fix)
        row->message = ms_arena_printf(arena, "%s%s%s%s%s", row->text, *row->changes ? ". " : "",
                                       row->changes, *row->fix ? ". " : "", row->fix);
    return row->message != NULL;
}

static const char *title_of(ms_check_view *view)
{
    char text[160];
    int used = snprintf(text, sizeof text, "%" PRIu32 " budget%s", view->count,
                        view->count == 1 ? "" : "s");
    const char *before = ": ";
    for (int i = MS_OUTCOME_COUNT - 1; i >= 0; i--)
        if (view->counts[i]) {
            used += snprintf(text + used, sizeof text - (size_t)used, "%s%" PRIu32 " %s", before,
                             view->counts[i], ms_outcome_names[i]);
            before = ", ";
        }
    return ms_arena_strdup(view->arena, text);
}

static bool fill_view(const ms_verdict *const *verdicts, ms_check_view *view)
{
    ms_check_row *rows = ms_arena_array(view->arena, ms_check_row, view->count);
    for (uint32_t i = 0; rows && i < view->count; i++) {
        if (!fill_row(view->arena, verdicts[i], &rows[i]))
            return false;
        view->counts[verdicts[i]->outcome]++;
    }
    view->rows = rows;
    view->title = title_of(view);
    return rows && view->title;
}

static ms_status write_view(const struct channel *channel, const ms_check_view *view, FILE *out,
                            ms_error *err)
{
    errno = 0;
    channel->write(out, view);
    if (ms_arena_has_failed(view->arena))
        return ms_fail(err, MS_ERR_NOMEM, "no memory for the %s report", channel->format.name);
    char what[64];
    snprintf(what, sizeof what, "the %s report", channel->format.name);
    return ms_formats_finish(out, what, err);
}

ms_status ms_check_report_write(const ms_verdict *const *verdicts, const ms_check_view *set,
                                const char *format, FILE *out, ms_error *err)
{
    ms_check_view view = *set;
    const struct channel *channel = ms_formats_find(&formats, format, err);
    if (!channel)
        return MS_ERR_USAGE;
    view.arena = ms_arena_create(0);
    ms_status status = MS_OK;
    if (view.arena && fill_view(verdicts, &view))
        status = write_view(channel, &view, out, err);
    else
        status = ms_fail(err, MS_ERR_NOMEM, "no memory for the %s report", format);
    ms_arena_free(view.arena);
    return status;
}
