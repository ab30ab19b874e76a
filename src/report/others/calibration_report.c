/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/others/calibration_report.h"

#include <inttypes.h>

#include "base/json/write.h"
#include "memscope/calibrate.h"
#include "base/text/number.h"
#include "report/kit/list_table.h"
#include "report/kit/page.h"
#include "report/kit/writer_list.h"

/* ---- console ---- */

static const char *value_text(ms_parameter_kind kind, double value, char text[MS_FIXED_TEXT])
{
    if (ms_parameter_rows[kind].is_bytes)
        return ms_bytes_text((uint64_t)value, text);
    if (kind == MS_PARAMETER_HOST_LINK || kind == MS_PARAMETER_PEER_LINK)
        return ms_fixed(value / 1e9, 2, text);
    return ms_fixed(value, 4, text);
}

static const char *unit_of(ms_parameter_kind kind)
{
    return kind == MS_PARAMETER_HOST_LINK || kind == MS_PARAMETER_PEER_LINK ? ", GB/s" : "";
}

_Static_assert((int)MS_BYTES_TEXT <= (int)MS_FIXED_TEXT, "a size is longer than a number");

static bool write_parameters(const ms_page *p, const ms_calibration *c)
{
    static const ms_list_column columns[] = {{"", 2, 35, 0, false},
                                             {"value", 1, 10, 0, true},
                                             {"from", 2, 10, 2, true},
                                             {"to", 2, 10, 2, true},
                                             {"points", 2, 6, 1, true}};
    ms_list_table list = ms_list_begin(columns, sizeof columns / sizeof columns[0]);
    ms_page_heading(p, "Parameters", "  (from, to: fitted without one of the points)");
    for (int i = 0; i < MS_PARAMETER_COUNT; i++) {
        const ms_fitted *f = &c->parameters[i];
        ms_parameter_kind kind = (ms_parameter_kind)i;
        char text[MS_FIXED_TEXT], label[64];
        if (f->points == 0)
            continue;
        snprintf(label, sizeof label, "%s%s", ms_parameter_rows[i].title, unit_of(kind));
        ms_list_put(&list, label);
        ms_list_put(&list, value_text(kind, f->value, text));
        ms_list_put(&list, value_text(kind, f->low, text));
        ms_list_put(&list, value_text(kind, f->high, text));
        snprintf(text, sizeof text, "%" PRIu32, f->points);
        ms_list_put(&list, text);
    }
    return ms_list_end(&list, p, p->columns);
}

static void put_error(ms_list_table *list, const ms_calibration_error *e)
{
    char text[MS_FIXED_TEXT];
    ms_list_put(list, ms_fixed(100 * e->mean, 2, text));
    ms_list_put(list, ms_fixed(100 * e->worst, 2, text));
}

static bool write_quality(const ms_page *p, const ms_calibration_result *r)
{
    static const ms_list_column columns[] = {{"", 2, 24, 0, false},      {"", 1, 8, 1, true},
                                             {"before", 1, 7, 1, true},  {"", 1, 8, 0, true},
                                             {"after", 1, 7, 0, true},   {"", 1, 8, 0, true},
                                             {"left out", 0, 8, 0, true}};
    ms_list_table list = ms_list_begin(columns, sizeof columns / sizeof columns[0]);
    ms_page_heading(p, "Errors", "  (% of the measured value: mean, worst)");
    for (uint32_t i = 0; i < r->quality_count; i++) {
        const ms_calibration_quality *q = &r->qualities[i];
        ms_list_put(&list, q->figure);
        put_error(&list, &q->before);
        put_error(&list, &q->after);
        put_error(&list, &q->held_out);
    }
    bool ok = ms_list_end(&list, p, p->columns);
    ms_page_paragraph(p, "left out: each point predicted by a fit of the others");
    return ok;
}

bool ms_calibration_console(FILE *out, const ms_calibration_view *view)
{
    const ms_calibration_result *r = view->result;
    const ms_page p = ms_page_begin(out, view->style);
    ms_page_put(&p, "%s: calibrated with %" PRIu32 " measured step%s", r->calibration.device,
                r->calibration.points, r->calibration.points == 1 ? "" : "s");
    fputc('\n', out);
    if (!write_parameters(&p, &r->calibration) || (r->quality_count > 0 && !write_quality(&p, r)))
        return false;
    if (r->note_count > 0)
        ms_page_heading(&p, "Not fitted", "");
    for (uint32_t i = 0; i < r->note_count; i++)
        ms_page_paragraph(&p, r->notes[i]);
    if (r->remark_count > 0)
        ms_page_heading(&p, "Out of the usual range", "");
    for (uint32_t i = 0; i < r->remark_count; i++)
        ms_page_paragraph(&p, r->remarks[i]);
    return true;
}

/* ---- JSON ---- */

static void write_number(ms_json_writer *w, const char *key, ms_parameter_kind kind, double value)
{
    if (ms_parameter_rows[kind].is_bytes)
        ms_json_uint(w, key, (uint64_t)value);
    else
        ms_json_double(w, key, value, 6);
}

static void write_errors(ms_json_writer *w, const char *key, const ms_calibration_error *e)
{
    ms_json_object_inline(w, key);
    ms_json_double(w, "mean", e->mean, 6);
    ms_json_double(w, "worst", e->worst, 6);
    ms_json_close(w);
}

bool ms_calibration_json(FILE *out, const ms_calibration_view *view)
{
    const ms_calibration_result *r = view->result;
    ms_json_writer w = {.out = out};
    ms_json_object(&w, NULL);
    ms_json_string(&w, "schema_version", MS_CALIBRATION_SCHEMA_VERSION);
    ms_json_string(&w, "device", r->calibration.device);
    ms_json_uint(&w, "points", r->calibration.points);
    ms_json_object(&w, "parameters");
    for (int i = 0; i < MS_PARAMETER_COUNT; i++) {
        const ms_fitted *f = &r->calibration.parameters[i];
        if (f->points == 0)
            continue;
        ms_json_object_inline(&w, ms_parameter_rows[i].name);
        write_number(&w, "value", (ms_parameter_kind)i, f->value);
        write_number(&w, "low", (ms_parameter_kind)i, f->low);
        write_number(&w, "high", (ms_parameter_kind)i, f->high);
        ms_json_uint(&w, "points", f->points);
        ms_json_close(&w);
    }
    ms_json_close(&w);
    ms_json_array(&w, "residuals");
    for (uint32_t i = 0; i < r->quality_count; i++) {
        const ms_calibration_quality *q = &r->qualities[i];
        ms_json_object(&w, NULL);
        ms_json_string(&w, "figure", q->figure);
        ms_json_uint(&w, "points", q->points);
        write_errors(&w, "before", &q->before);
        write_errors(&w, "after", &q->after);
        write_errors(&w, "left_out", &q->held_out);
        ms_json_close(&w);
    }
    ms_json_close(&w);
    ms_json_array(&w, "not_fitted");
    for (uint32_t i = 0; i < r->note_count; i++)
        ms_json_string(&w, NULL, r->notes[i]);
    ms_json_close(&w);
    ms_json_array(&w, "unusual");
    for (uint32_t i = 0; i < r->remark_count; i++)
        ms_json_string(&w, NULL, r->remarks[i]);
    ms_json_close(&w);
    ms_json_close(&w);
    ms_json_writer_end(&w);
    return true;
}
