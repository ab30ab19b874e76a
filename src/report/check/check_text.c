/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A check in text formats of other tools: JUnit's XML, GitHub's workflow commands, Prometheus.
 */
#include <inttypes.h>
#include <string.h>

#include "base/utf8.h"
#include "report/check/check_view.h"
#include "report/kit/writer_list.h"
#include "report/kit/escape.h"

/* ---- JUnit ---- */

/* Each in a line of its own, with its place. */
static void put_others(FILE *out, const ms_check_view *view, const ms_check_row *r)
{
    for (uint32_t i = 0; i < r->other_count; i++) {
        const ms_error *other = &r->others[i];
        fputc('\n', out);
        ms_xml_text(out, ms_check_file(view, other));
        fprintf(out, ":%" PRIu32 ":%" PRIu32 ": ", other->line, other->column);
        ms_xml_text(out, other->pointer);
        fputs(*other->pointer ? ": " : "", out);
        ms_xml_text(out, other->text);
    }
}

static void put_case(FILE *out, const ms_check_view *view, const ms_check_row *r)
{
    const ms_verdict *v = r->verdict;
    const ms_error *place = ms_check_place(v);
    bool failed = v->outcome == MS_OUTCOME_FAILED;
    fputs("    <testcase name=\"", out);
    ms_xml_text(out, v->budget->name);
    fputs("\" classname=\"memscope.check\" file=\"", out);
    ms_xml_text(out, ms_check_file(view, place));
    fprintf(out, "\" line=\"%" PRIu32 "\" time=\"0\">", place->line);
    if (v->outcome >= MS_OUTCOME_UNKNOWN) {
        fprintf(out, "\n      <%s type=\"%s\" message=\"", failed ? "error" : "failure",
                ms_check_rule(v));
        ms_xml_text(out, r->text);
        fputs("\">", out);
        ms_xml_text(out, r->message);
        put_others(out, view, r);
        fprintf(out, "</%s>\n    ", failed ? "error" : "failure");
    } else if (v->outcome == MS_OUTCOME_SKIPPED) {
        fputs("\n      <skipped message=\"no limit\"/>\n    ", out);
    } else {
        fputs("\n      <system-out>", out);
        ms_xml_text(out, r->message);
        fputs("</system-out>\n    ", out);
    }
    fputs("</testcase>\n", out);
}

bool ms_check_junit(FILE *out, const ms_check_view *view)
{
    const uint32_t *n = view->counts;
    char totals[160];
    snprintf(totals, sizeof totals,
             "name=\"memscope\" tests=\"%" PRIu32 "\" failures=\"%" PRIu32 "\" errors=\"%" PRIu32
             "\" skipped=\"%" PRIu32 "\" time=\"0\"",
             view->count, n[MS_OUTCOME_OVER] + n[MS_OUTCOME_UNKNOWN], n[MS_OUTCOME_FAILED],
             n[MS_OUTCOME_SKIPPED]);
    fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"memscope\">\n", out);
    fprintf(out, "  <testsuite %s>\n", totals);
    for (uint32_t i = 0; i < view->count; i++)
        put_case(out, view, &view->rows[i]);
    fputs("  </testsuite>\n</testsuites>\n", out);
    return true;
}

/* ---- GitHub ---- */

/* More of a kind in a step vanish without a word. */
enum { MOST_ANNOTATIONS = 10 };

static void put_data(FILE *out, const char *text)
{
    static const ms_escape escapes[] = {{'%', "%25"}, {'\0', NULL}};
    ms_put_escaped(out, text, text, text + strlen(text), escapes);
}

static void put_property(FILE *out, const char *text)
{
    static const ms_escape escapes[] = {{'%', "%25"}, {':', "%3A"}, {',', "%2C"}, {'\0', NULL}};
    ms_put_escaped(out, text, text, text + strlen(text), escapes);
}

static void put_annotation(FILE *out, const ms_check_view *view, const ms_check_row *r,
                           const char *kind, const ms_error *other)
{
    const ms_error *place = other ? other : ms_check_place(r->verdict);
    fprintf(out, "::%s file=", kind);
    put_property(out, ms_check_file(view, place));
    fprintf(out, ",line=%" PRIu32 ",col=%" PRIu32 ",title=", place->line ? place->line : 1,
            place->column ? place->column : 1);
    put_property(out, r->verdict->budget->name);
    fputs("::", out);
    put_data(out, other ? other->text : r->message);
    fputc('\n', out);
}

bool ms_check_github(FILE *out, const ms_check_view *view)
{
    uint32_t errors = 0, warnings = 0;
    for (uint32_t i = 0; i < view->count; i++) {
        const ms_verdict *v = view->rows[i].verdict;
        bool is_warning = v->outcome == MS_OUTCOME_WARNED;
        uint32_t *count = is_warning ? &warnings : &errors;
        if (!ms_is_problem(v) || *count == MOST_ANNOTATIONS)
            continue;
        ++*count;
        put_annotation(out, view, &view->rows[i], is_warning ? "warning" : "error", NULL);
    }
    for (uint32_t i = 0; i < view->count; i++)
        for (uint32_t k = 0; k < view->rows[i].other_count && errors < MOST_ANNOTATIONS; k++) {
            put_annotation(out, view, &view->rows[i], "error", &view->rows[i].others[k]);
            errors++;
        }
    return true;
}

/* ---- Prometheus ---- */

static void put_label(FILE *out, const char *text)
{
    static const ms_escape escapes[] = {{'\\', "\\\\"}, {'"', "\\\""}, {'\0', NULL}};
    ms_put_escaped(out, text, text, text + strlen(text), escapes);
}

static uint64_t expected_of(const ms_verdict *v)
{
    return v->expected_bytes;
}

static uint64_t upper_of(const ms_verdict *v)
{
    return v->upper_bytes;
}

static uint64_t limit_of(const ms_verdict *v)
{
    return v->limit_bytes;
}

static uint64_t fit_of(const ms_verdict *v)
{
    static const uint64_t numbers[] = {[MS_VERDICT_NO] = 0,
                                       [MS_VERDICT_UNKNOWN] = 0,
                                       [MS_VERDICT_TIGHT] = 1,
                                       [MS_VERDICT_FITS] = 2};
    return numbers[ms_reason_verdict(v->report.reason)];
}

static uint64_t is_within(const ms_verdict *v)
{
    return v->outcome < MS_OUTCOME_UNKNOWN;
}

static uint64_t is_unknown(const ms_verdict *v)
{
    return v->outcome == MS_OUTCOME_UNKNOWN;
}

static const struct metric {
    const char *name, *help;
    uint64_t (*value)(const ms_verdict *v);
    bool of_failed, or_zero;
} metrics[] = {
    {"memscope_expected_bytes", "Memory that the step is expected to need.", expected_of, false,
     true},
    {"memscope_upper_bytes", "Memory that the step needs at most.", upper_of, false, true},
    {"memscope_limit_bytes", "Memory that the step may use.", limit_of, false, false},
    {"memscope_fit_verdict", "2 if the step fits its device, 1 if only just, 0 if not.", fit_of,
     false, true},
    {"memscope_within_budget", "1 if the step is known to stay within its limits.", is_within, true,
     true},
    {"memscope_unknown", "1 if settings that are not predicted decide.", is_unknown, true, true},
};

bool ms_check_prometheus(FILE *out, const ms_check_view *view)
{
    for (size_t m = 0; m < sizeof metrics / sizeof metrics[0]; m++) {
        const struct metric *metric = &metrics[m];
        fprintf(out, "# HELP %s %s\n# TYPE %s gauge\n", metric->name, metric->help, metric->name);
        for (uint32_t i = 0; i < view->count; i++) {
            const ms_verdict *v = view->rows[i].verdict;
            uint64_t value = metric->value(v);
            if ((v->outcome == MS_OUTCOME_FAILED && !metric->of_failed) ||
                (value == 0 && !metric->or_zero))
                continue;
            fprintf(out, "%s{budget=\"", metric->name);
            put_label(out, v->budget->name);
            fprintf(out, "\"} %" PRIu64 "\n", value);
        }
    }
    return true;
}
