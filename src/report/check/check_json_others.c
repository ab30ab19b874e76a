/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A check in small JSON formats of other tools.
 */
#include <inttypes.h>

#include "base/json/write.h"
#include "report/check/check_view.h"
#include "report/kit/writer_list.h"

/* ---- GitLab's code quality ---- */

static void write_finding(ms_json_writer *w, const ms_check_view *view, const ms_check_row *r,
                          const ms_error *other)
{
    char fingerprint[MS_FINGERPRINT_TEXT];
    const ms_verdict *v = r->verdict;
    const ms_error *place = other ? other : ms_check_place(v);
    ms_json_object(w, NULL);
    ms_json_string(
        w, "description",
        ms_arena_printf(view->arena, "%s: %s", v->budget->name, other ? other->text : r->message));
    ms_json_string(w, "check_name", ms_check_rule(v));
    ms_json_string(w, "fingerprint", ms_check_fingerprint(v, other, fingerprint));
    ms_json_string(w, "severity",
                   v->outcome == MS_OUTCOME_FAILED    ? "blocker"
                   : v->outcome >= MS_OUTCOME_UNKNOWN ? "major"
                                                      : "minor");
    ms_json_object(w, "location");
    ms_json_string(w, "path", ms_check_file(view, place));
    ms_json_object_inline(w, "lines");
    ms_json_uint(w, "begin", place->line ? place->line : 1);
    ms_json_close(w);
    ms_json_close(w);
    ms_json_close(w);
}

static void write_findings(ms_json_writer *w, const ms_check_view *view, const ms_check_row *r)
{
    if (!ms_is_problem(r->verdict))
        return;
    write_finding(w, view, r, NULL);
    for (uint32_t i = 0; i < r->other_count; i++)
        write_finding(w, view, r, &r->others[i]);
}

bool ms_check_gitlab(FILE *out, const ms_check_view *view)
{
    ms_json_writer w = {.out = out};
    ms_json_array(&w, NULL);
    for (uint32_t i = 0; i < view->count; i++)
        write_findings(&w, view, &view->rows[i]);
    ms_json_close(&w);
    ms_json_writer_end(&w);
    return true;
}

/* ---- benchmark charts ---- */

bool ms_check_benchmark(FILE *out, const ms_check_view *view)
{
    ms_json_writer w = {.out = out};
    ms_json_array(&w, NULL);
    for (uint32_t i = 0; i < view->count; i++) {
        const ms_verdict *v = view->rows[i].verdict;
        if (v->outcome == MS_OUTCOME_FAILED)
            continue;
        ms_json_object_inline(&w, NULL);
        ms_json_string(&w, "name", v->budget->name);
        ms_json_string(&w, "unit", "bytes");
        ms_json_uint(&w, "value", v->used_bytes);
        ms_json_close(&w);
    }
    ms_json_close(&w);
    ms_json_writer_end(&w);
    return true;
}

/* ---- a badge ---- */

bool ms_check_shields(FILE *out, const ms_check_view *view)
{
    ms_json_writer w = {.out = out};
    uint32_t bad = view->counts[MS_OUTCOME_OVER] + view->counts[MS_OUTCOME_UNKNOWN] +
                   view->counts[MS_OUTCOME_FAILED];
    ms_json_object(&w, NULL);
    ms_json_uint(&w, "schemaVersion", 1);
    ms_json_string(&w, "label", "memory");
    ms_json_string(&w, "message",
                   ms_arena_printf(view->arena, "%" PRIu32 " of %" PRIu32 " within budget",
                                   view->count - bad, view->count));
    ms_json_string(&w, "color",
                   bad                               ? "red"
                   : view->counts[MS_OUTCOME_WARNED] ? "yellow"
                                                     : "brightgreen");
    ms_json_bool(&w, "isError", view->counts[MS_OUTCOME_FAILED] > 0);
    ms_json_close(&w);
    ms_json_writer_end(&w);
    return true;
}
