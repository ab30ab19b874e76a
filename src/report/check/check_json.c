/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A check as memscope's JSON (schemas/check.schema.json), and in standard JSON formats.
 */
#include <inttypes.h>
#include <string.h>

#include "base/json/write.h"
#include "report/check/check_view.h"
#include "report/kit/writer_list.h"
#include "report/view/fit_words.h"

static void end(ms_json_writer *w)
{
    fputc('\n', w->out);
}

/* ---- our own ---- */

static void write_place(ms_json_writer *w, const ms_check_view *view, const ms_error *place)
{
    ms_json_object_inline(w, "place");
    ms_json_string(w, "file", ms_check_file(view, place));
    ms_json_uint(w, "line", place->line);
    ms_json_uint(w, "column", place->column);
    ms_json_close(w);
}

static void write_changes(ms_json_writer *w, const ms_check_view *view, const ms_verdict *v)
{
    const struct {
        const ms_field_change *rows;
        const ms_error *const *places;
        uint32_t count;
    } lists[] = {{v->diff.config, v->config_places, v->diff.config_count},
                 {v->diff.settings, v->setting_places, v->diff.settings_count}};
    ms_json_array(w, "changed_keys");
    for (size_t l = 0; l < 2; l++)
        for (uint32_t i = 0; i < lists[l].count; i++) {
            ms_json_object(w, NULL);
            ms_json_string(w, "name", lists[l].rows[i].name);
            ms_json_string(w, "before", lists[l].rows[i].a);
            ms_json_string(w, "now", lists[l].rows[i].b);
            if (lists[l].places && lists[l].places[i])
                write_place(w, view, lists[l].places[i]);
            ms_json_close(w);
        }
    ms_json_close(w);
}

enum { MOST_GROWN = 10 };

static void write_grown(ms_json_writer *w, const ms_diff *diff, ms_diff_table table)
{
    ms_json_array(w, ms_diff_titles[table].key);
    for (uint32_t i = 0, shown = 0; i < diff->tables[table].count && shown < MOST_GROWN; i++) {
        const ms_part_change *row = &diff->tables[table].items[i];
        if (row->b_bytes <= row->a_bytes)
            continue;
        shown++;
        ms_json_object_inline(w, NULL);
        ms_json_string(w, "name", row->name);
        ms_json_uint(w, "before_bytes", row->a_bytes);
        ms_json_uint(w, "now_bytes", row->b_bytes);
        ms_json_close(w);
    }
    ms_json_close(w);
}

static void write_breaches(ms_json_writer *w, const ms_verdict *v)
{
    ms_json_array(w, "breaches");
    for (uint32_t i = 0; i < v->breach_count; i++) {
        ms_json_object_inline(w, NULL);
        ms_json_string(w, "limit", v->breaches[i].key);
        ms_json_string(w, "text", v->breaches[i].limit->text);
        ms_json_uint(w, "limit_bytes", v->breaches[i].limit_bytes);
        ms_json_uint(w, "over_bytes", v->used_bytes - v->breaches[i].limit_bytes);
        ms_json_bool(w, "warning", v->breaches[i].is_warning);
        ms_json_close(w);
    }
    if (v->by_fit == MS_OUTCOME_OVER) {
        ms_json_object_inline(w, NULL);
        ms_json_string(w, "limit", "require");
        ms_json_string(w, "text", ms_require_names[v->budget->limits.require]);
        ms_json_bool(w, "warning", false);
        ms_json_close(w);
    }
    ms_json_close(w);
}

static void write_figures(ms_json_writer *w, const ms_verdict *v)
{
    const ms_limits *limits = &v->budget->limits;
    ms_json_string(w, "device", v->report.device);
    if (ms_report_setting(&v->report, "calibration"))
        ms_json_string(w, "calibration", ms_report_setting(&v->report, "calibration"));
    ms_json_string(w, "phase", ms_measure_names[limits->measure]);
    ms_json_string(w, "use", limits->uses_expected ? "expected" : "upper");
    ms_json_string(w, "require", ms_require_names[limits->require]);
    ms_fit_json(w, v->report.reason);
    ms_json_uint(w, "expected_bytes", v->expected_bytes);
    ms_json_uint(w, "upper_bytes", v->upper_bytes);
    ms_json_uint(w, "used_bytes", v->used_bytes);
    if (v->limit_bytes)
        ms_json_uint(w, "limit_bytes", v->limit_bytes);
    else
        ms_json_null(w, "limit_bytes");
    write_breaches(w, v);
}

/* What else is refused. */
static void write_others(ms_json_writer *w, const ms_check_view *view, const ms_check_row *r)
{
    ms_json_array(w, "others");
    for (uint32_t i = 0; i < r->other_count; i++) {
        ms_json_object(w, NULL);
        ms_json_string(w, "message", r->others[i].text);
        ms_json_string(w, "pointer", r->others[i].pointer);
        write_place(w, view, &r->others[i]);
        ms_json_close(w);
    }
    ms_json_close(w);
}

static void write_verdict(ms_json_writer *w, const ms_check_view *view, const ms_check_row *r)
{
    const ms_verdict *v = r->verdict;
    ms_json_object(w, NULL);
    ms_json_string(w, "name", v->budget->name);
    ms_json_string(w, "config", v->budget->config);
    ms_json_string(w, "outcome", ms_outcome_names[v->outcome]);
    ms_json_string(w, "message", r->message);
    write_place(w, view, ms_check_place(v));
    if (r->other_count)
        write_others(w, view, r);
    if (v->outcome != MS_OUTCOME_FAILED)
        write_figures(w, v);
    if (v->has_before && v->outcome != MS_OUTCOME_FAILED) {
        ms_json_uint(w, "baseline_bytes", v->before_bytes);
        write_changes(w, view, v);
        ms_json_object(w, "grown");
        for (int i = 0; i < MS_DIFF_TABLES; i++)
            write_grown(w, &v->diff, (ms_diff_table)i);
        ms_json_close(w);
    }
    if (v->outcome == MS_OUTCOME_OVER && (v->fix || v->has_no_fix)) {
        ms_json_string(w, "fix", v->fix);
        ms_json_string(w, "treat", v->treat);
        ms_json_string(w, "option", v->option);
    }
    ms_json_close(w);
}

bool ms_check_json(FILE *out, const ms_check_view *view)
{
    ms_json_writer w = {.out = out};
    ms_json_object(&w, NULL);
    ms_json_string(&w, "schema_version", MS_CHECK_SCHEMA_VERSION);
    ms_json_uint(&w, "exit_code", (uint64_t)view->exit_code);
    ms_json_object_inline(&w, "counts");
    for (int i = 0; i < MS_OUTCOME_COUNT; i++)
        ms_json_uint(&w, ms_outcome_names[i], view->counts[i]);
    ms_json_close(&w);
    ms_json_array(&w, "budgets");
    for (uint32_t i = 0; i < view->count; i++)
        write_verdict(&w, view, &view->rows[i]);
    ms_json_close(&w);
    ms_json_close(&w);
    end(&w);
    return true;
}

/* ---- SARIF 2.1.0 ---- */

static const struct rule {
    const char *id, *text;
} rules[] = {
    {"over-budget", "A training step needs more memory than its budget allows."},
    {"near-budget", "A training step needs more memory than its budget's warning level."},
    {"tight-fit", "A training step does not fit its device, or fits only just."},
    {"not-predicted",
     "Whether a step is within its budget depends on settings that are not predicted."},
    {"unreadable", "A budget cannot be checked."},
};

static void write_rules(ms_json_writer *w)
{
    ms_json_array(w, "rules");
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
        ms_json_object(w, NULL);
        ms_json_string(w, "id", rules[i].id);
        ms_json_object_inline(w, "shortDescription");
        ms_json_string(w, "text", rules[i].text);
        ms_json_close(w);
        ms_json_close(w);
    }
    ms_json_close(w);
}

/* A path as a URI reference: what is no plain character of a path is escaped. */
static const char *uri_of(const ms_check_view *view, const ms_error *place)
{
    static const char plain[] =
        "/._-~ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    const char *file = ms_check_file(view, place);
    char *uri = ms_arena_array(view->arena, char, 3 * strlen(file) + 1), *p = uri;
    for (; uri && *file; file++) {
        if (strchr(plain, *file))
            *p++ = *file;
        else
            p += snprintf(p, 4, "%%%02X", (unsigned)(unsigned char)*file);
    }
    return uri ? uri : "";
}

static void write_location(ms_json_writer *w, const ms_check_view *view, const ms_error *place)
{
    ms_json_array(w, "locations");
    ms_json_object(w, NULL);
    ms_json_object(w, "physicalLocation");
    ms_json_object_inline(w, "artifactLocation");
    ms_json_string(w, "uri", uri_of(view, place));
    ms_json_close(w);
    ms_json_object_inline(w, "region");
    ms_json_uint(w, "startLine", place->line ? place->line : 1);
    ms_json_uint(w, "startColumn", place->column ? place->column : 1);
    ms_json_close(w);
    ms_json_close(w);
    ms_json_close(w);
    ms_json_close(w);
}

static void write_result(ms_json_writer *w, const ms_check_view *view, const ms_check_row *r,
                         const ms_error *other)
{
    char fingerprint[MS_FINGERPRINT_TEXT];
    const ms_verdict *v = r->verdict;
    ms_json_object(w, NULL);
    ms_json_string(w, "ruleId", ms_check_rule(v));
    ms_json_string(w, "level", v->outcome == MS_OUTCOME_WARNED ? "warning" : "error");
    ms_json_object_inline(w, "message");
    ms_json_string(
        w, "text",
        ms_arena_printf(view->arena, "%s: %s", v->budget->name, other ? other->text : r->message));
    ms_json_close(w);
    write_location(w, view, other ? other : ms_check_place(v));
    ms_json_object_inline(w, "partialFingerprints");
    ms_json_string(w, "memscopeBudget/v1", ms_check_fingerprint(v, other, fingerprint));
    ms_json_close(w);
    ms_json_close(w);
}

static void write_results(ms_json_writer *w, const ms_check_view *view, const ms_check_row *r)
{
    if (!ms_is_problem(r->verdict))
        return;
    write_result(w, view, r, NULL);
    for (uint32_t i = 0; i < r->other_count; i++)
        write_result(w, view, r, &r->others[i]);
}

bool ms_check_sarif(FILE *out, const ms_check_view *view)
{
    ms_json_writer w = {.out = out};
    ms_json_object(&w, NULL);
    ms_json_string(&w, "$schema", "https://json.schemastore.org/sarif-2.1.0.json");
    ms_json_string(&w, "version", "2.1.0");
    ms_json_array(&w, "runs");
    ms_json_object(&w, NULL);
    ms_json_object(&w, "tool");
    ms_json_object(&w, "driver");
    ms_json_string(&w, "name", "memscope");
    ms_json_string(&w, "version", MS_VERSION);
    write_rules(&w);
    ms_json_close(&w);
    ms_json_close(&w);
    ms_json_string(&w, "columnKind", "unicodeCodePoints");
    ms_json_array(&w, "results");
    for (uint32_t i = 0; i < view->count; i++)
        write_results(&w, view, &view->rows[i]);
    ms_json_close(&w);
    ms_json_close(&w);
    ms_json_close(&w);
    ms_json_close(&w);
    end(&w);
    return true;
}
