/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "api/diff.h"

#include "input/document/reading.h"
#include "memscope/diff.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "api/analysis.h"
#include "api/read_report.h"
#include "api/run.h"
#include "base/error.h"
#include "base/vec.h"
#include "input/config/model/input.h"
#include "decide/diff/diff.h"
#include "base/json/read.h"
#include "report/diff/diff_view.h"
#include "report/writers.h"

struct ms_comparison {
    ms_arena *arena;
    ms_report a, b;
    const char *a_name, *b_name;
    ms_diff diff;
    ms_style style;
};

void ms_comparison_free(ms_comparison *comparison)
{
    if (!comparison)
        return;
    ms_arena_free(comparison->arena);
    free(comparison);
}

/* ---- the sides ---- */

static bool is_file(const char *name)
{
    struct stat info;
    return strcmp(name, "-") == 0 ||
           (!ms_is_preset(name) && stat(name, &info) == 0 && !S_ISDIR(info.st_mode));
}

ms_status ms_report_file_read(ms_arena *arena, const char *path, ms_report *report, bool *is_one,
                              ms_error *err)
{
    ms_json_source source;
    char *text = NULL;
    ms_json *document = NULL;
    ms_status status = ms_json_read_within(ms_arena_inputs(arena), path, MS_JSON_MAX_LARGE_BYTES,
                                           &source, &text, err);
    if (status == MS_OK)
        status = ms_json_parse_within(&source, MS_JSON_MAX_LARGE_BYTES, &document, err);
    *is_one = status == MS_OK && ms_report_is_one(ms_json_root(document));
    if (*is_one)
        status = ms_report_read(arena, ms_json_root(document), report, err);
    ms_json_free(document);
    free(text);
    return status;
}

/* The fields of one side: of both, then its own. */
typedef struct side {
    const char *name, *title;
    const ms_run *both, *more; /* or NULL */
} side;

static ms_status analyze(ms_arena *arena, const side *s, ms_report *report, ms_error *err)
{
    ms_vec(ms_run_setting) settings = {0};
    const ms_run *runs[] = {s->both, s->more};
    bool kept = true;
    for (int r = 0; r < 2; r++)
        for (uint32_t i = 0; runs[r] && kept && i < runs[r]->settings.count; i++)
            kept = ms_vec_push(&settings, runs[r]->settings.items[i]);
    kept = kept && ms_vec_push(&settings, ((ms_run_setting){"config", s->name}));
    ms_analysis *analysis =
        kept ? ms_analyze_settings(settings.items, settings.count, ms_arena_inputs(arena), err)
             : NULL;
    ms_status status = err->status;
    if (!kept)
        status = ms_fail(err, MS_ERR_NOMEM, "no memory for a run");
    if (analysis)
        status = ms_analysis_report(analysis, arena, report, err);
    ms_analysis_free(analysis);
    ms_vec_free(&settings);
    return status;
}

static ms_status read_side(ms_arena *arena, const side *s, ms_report *report, ms_error *err)
{
    bool is_one = false;
    ms_status status =
        is_file(s->name) ? ms_report_file_read(arena, s->name, report, &is_one, err) : MS_OK;
    if (status == MS_OK && is_one && s->more && s->more->settings.count > 0)
        return ms_fail(err, MS_ERR_USAGE,
                       "'%.80s' is a report, so options of a run have no effect on it", s->name);
    if (status != MS_OK || is_one)
        return status;
    if (strcmp(s->name, "-") == 0)
        return ms_fail(err, MS_ERR_USAGE, "standard input is not a report");
    return analyze(arena, s, report, err);
}

/* ---- both ---- */

static ms_status compare(ms_comparison *c, const side *a, const side *b, ms_error *err)
{
    c->arena = ms_arena_create(0);
    if (c->arena && a->both)
        ms_arena_set_inputs(c->arena, a->both->inputs);
    c->a_name = c->arena ? ms_report_text(c->arena, a->title) : NULL;
    c->b_name = c->arena ? ms_report_text(c->arena, b->title) : NULL;
    if (!c->a_name || !c->b_name)
        return ms_fail(err, MS_ERR_NOMEM, "no memory for a comparison");
    if (strcmp(a->name, "-") == 0 && strcmp(b->name, "-") == 0)
        return ms_fail(err, MS_ERR_USAGE, "both sides are standard input");
    ms_status status = read_side(c->arena, a, &c->a, err);
    if (status == MS_OK)
        status = read_side(c->arena, b, &c->b, err);
    return status == MS_OK ? ms_diff_make(c->arena, &c->a, &c->b, &c->diff, err) : status;
}

ms_comparison *ms_comparison_make_with(const char *a, const char *b, const ms_run *run,
                                       const ms_run *more, const char *title, ms_error *err)
{
    if (!a || !b)
        return (void)ms_fail_null(err), NULL;
    ms_error own = {0};
    ms_comparison *c = calloc(1, sizeof *c);
    if (!err)
        err = &own;
    if (!c) {
        ms_error_set(err, MS_ERR_NOMEM, "no memory for a comparison");
        return NULL;
    }
    c->style = (ms_style){.columns = 80};
    if (compare(c, &(side){a, a, run, NULL}, &(side){b, title ? title : b, run, more}, err) ==
        MS_OK)
        return c;
    ms_comparison_free(c);
    return NULL;
}

ms_comparison *ms_comparison_make(const char *a, const char *b, const ms_run *run, ms_error *err)
{
    return ms_comparison_make_with(a, b, run, NULL, NULL, err);
}

bool ms_comparison_is_same(const ms_comparison *comparison)
{
    if (!comparison)
        return false;
    return comparison->diff.is_same;
}

void ms_comparison_set_style(ms_comparison *comparison, const ms_style *style)
{
    if (!comparison || !style)
        return;
    comparison->style = *style;
}

const ms_report_format *ms_comparison_format_at(size_t index)
{
    return ms_writer_format_at(MS_DOCUMENT_DIFF, index);
}

ms_status ms_comparison_write(const ms_comparison *c, const char *format, FILE *out, ms_error *err)
{
    if (!c || !format || !out)
        return ms_fail_null(err);
    const ms_writer *writer = ms_writer_find(MS_DOCUMENT_DIFF, format, err);
    if (!writer)
        return MS_ERR_USAGE;
    const ms_diff_view view = ms_diff_view_make(&c->diff, c->a_name, c->b_name, &c->style);
    return ms_writer_write(writer, &view, NULL, out, err);
}
