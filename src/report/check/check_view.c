/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/check/check_view.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "decide/check/wording.h"

/* ---- the view ---- */

static const char *fix_of(ms_arena *arena, const ms_verdict *v)
{
    if (v->outcome != MS_OUTCOME_OVER || (!v->fix && !v->has_no_fix))
        return "";
    if (!v->fix)
        return "No plan was found that fits";
    return v->option ? ms_arena_printf(arena, "No plan of layers fits, but this does: %s; %s",
                                       v->fix, v->option)
                     : ms_arena_printf(arena, "This fits again: %s", v->fix);
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

/* Those without a place of their own are where the first is. */
static bool fill_others(ms_arena *arena, const ms_verdict *v, ms_check_row *row)
{
    const char *more = v->outcome == MS_OUTCOME_FAILED ? v->error.more : "", *left = more;
    ms_error one;
    uint32_t count = 0;
    while (ms_error_next(&left, &one))
        count++;
    if (count == 0)
        return true;
    ms_error *others = ms_arena_array(arena, ms_error, count);
    for (uint32_t i = 0; others && ms_error_next(&more, &others[i]); i++)
        if (!others[i].line)
            ms_error_copy_place(&others[i], ms_check_place(v));
    row->others = others;
    row->other_count = count;
    return others != NULL;
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
    return row->message != NULL && fill_others(arena, v, row);
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

ms_status ms_check_view_create(const ms_verdict *const *verdicts, ms_check_view *view,
                               ms_error *err)
{
    view->arena = ms_arena_create(0);
    if (view->arena && fill_view(verdicts, view))
        return MS_OK;
    ms_check_view_free(view);
    return ms_fail(err, MS_ERR_NOMEM, "no memory for the report of a check");
}

void ms_check_view_free(ms_check_view *view)
{
    ms_arena_free(view->arena);
    view->arena = NULL;
}

/* ---- of one verdict ---- */

bool ms_check_is_known(const ms_verdict *v)
{
    bool is_less = v->report.has_reason && ms_reason_verdict(v->report.reason) != MS_VERDICT_FITS;
    return ms_is_problem(v) || is_less || ms_report_setting(&v->report, "several_gpus");
}

const char *ms_check_rule(const ms_verdict *v)
{
    bool has_breach = false;
    for (uint32_t i = 0; i < v->breach_count; i++)
        has_breach = has_breach || v->breaches[i].is_warning == (v->outcome == MS_OUTCOME_WARNED);
    return v->outcome == MS_OUTCOME_FAILED    ? "unreadable"
           : v->outcome == MS_OUTCOME_UNKNOWN ? "not-predicted"
           : !has_breach                      ? "tight-fit"
           : v->outcome == MS_OUTCOME_OVER    ? "over-budget"
                                              : "near-budget";
}

const ms_error *ms_check_place(const ms_verdict *v)
{
    if (v->outcome == MS_OUTCOME_FAILED && v->error.file[0] && v->error.line)
        return &v->error;
    return v->place ? v->place : v->budget->place;
}

/* Takes "." and ".." out of an absolute path, in place. */
static void tidy_path(char *path)
{
    char *out = path;
    for (const char *part = path; *part;) {
        size_t length = strcspn(part + 1, "/");
        if (length == 2 && part[1] == '.' && part[2] == '.') {
            while (out > path && *--out != '/')
                continue;
        } else if (length > 1 || (length == 1 && part[1] != '.')) {
            memmove(out, part, length + 1);
            out += length + 1;
        }
        part += length + 1;
    }
    *out = '\0';
}

/* NULL: the file is not below the top. */
static const char *from_root(const ms_check_view *view, const char *file)
{
    size_t length = strlen(view->root);
    char *path = *file == '/' ? ms_arena_printf(view->arena, "%s", file)
                              : ms_arena_printf(view->arena, "%s/%s", view->folder, file);
    if (!path)
        return NULL;
    tidy_path(path);
    return strncmp(path, view->root, length) == 0 && path[length] == '/' ? path + length + 1 : NULL;
}

const char *ms_check_file(const ms_check_view *view, const ms_error *place)
{
    const char *file = place->file[0] ? place->file : view->path;
    while (strncmp(file, "./", 2) == 0)
        file += 2;
    const char *known = view->root ? from_root(view, file) : NULL;
    return known ? known : file;
}

const char *ms_check_fingerprint(const ms_verdict *v, const ms_error *other,
                                 char text[MS_FINGERPRINT_TEXT])
{
    const char *const parts[] = {v->budget->name,          "\n",
                                 ms_check_rule(v),         other ? "\n" : "",
                                 other ? other->file : "", other ? other->pointer : "",
                                 other ? other->text : ""};
    uint64_t hash = UINT64_C(0xcbf29ce484222325); /* FNV-1a */
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        for (const char *p = parts[i]; *p; p++)
            hash = (hash ^ (unsigned char)*p) * UINT64_C(0x100000001b3);
    snprintf(text, MS_FINGERPRINT_TEXT, "%016" PRIx64, hash);
    return text;
}
