/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A table of predictions of inference for programs: JSON and CSV.
 */
#include "report/infer/rows_json.h"

#include <inttypes.h>

#include "memscope/infer.h"
#include "report/infer/speed_view.h"
#include "report/kit/writer_list.h"
#include "base/text/csv.h"

void ms_infer_lever_json(ms_json_writer *w, const char *lever, uint64_t value)
{
    if (!lever) {
        ms_json_null(w, "most_that_fits");
        return;
    }
    ms_json_object(w, "most_that_fits");
    ms_json_string(w, "setting", lever);
    ms_json_uint(w, "value", value);
    ms_json_close(w);
}

void ms_infer_fit_json(ms_json_writer *w, const ms_infer_fit *fit)
{
    ms_json_object(w, "fit");
    ms_json_string(w, "what", fit->what);
    ms_json_string(w, "value", fit->value);
    ms_json_string(w, "safe_value", fit->safe);
    ms_json_string(w, "next", fit->next);
    if (fit->next_bytes > 0)
        ms_json_uint(w, "next_bytes", fit->next_bytes);
    else
        ms_json_null(w, "next_bytes");
    ms_json_string(w, "refusal", fit->refusal);
    if (fit->step > 0)
        ms_json_uint(w, "step", fit->step);
    else
        ms_json_null(w, "step");
    ms_json_bool(w, "larger_excluded", fit->has_all);
    ms_json_uint(w, "trials", fit->trials);
    ms_json_close(w);
}

static void write_figures(ms_json_writer *w, const ms_infer_row *row)
{
    ms_json_string(w, "device", row->device);
    ms_json_uint(w, "devices", row->devices);
    ms_json_uint(w, "budget_bytes", row->budget_bytes);
    ms_json_uint(w, "context", row->context);
    ms_json_uint(w, "concurrency", row->concurrency);
    ms_json_bool(w, "fits", row->fits);
    ms_json_uint(w, "bytes", row->needed.expected);
    ms_json_uint(w, "low_bytes", row->needed.low);
    ms_json_uint(w, "high_bytes", row->needed.high);
    ms_json_uint(w, "weight_bytes", row->weight_bytes);
    ms_json_uint(w, "cache_bytes", row->cache_bytes);
    ms_json_uint(w, "host_bytes", row->host_bytes);
    ms_infer_speed_json(w, &row->speed);
    ms_infer_lever_json(w, row->lever, row->lever_value);
    if (row->fit.what)
        ms_infer_fit_json(w, &row->fit);
    if (row->chosen)
        ms_json_string(w, "engine_fit_arguments", row->chosen);
}

static void write_row(ms_json_writer *w, const ms_infer_view *v, const ms_infer_row *row)
{
    ms_json_object(w, NULL);
    ms_json_string(w, "schema_version", MS_INFER_SCHEMA_VERSION);
    ms_json_string(w, "model", v->input->name);
    ms_json_string(w, "engine", v->rows->engine->name);
    ms_json_object(w, "settings");
    for (uint32_t i = 0; i < v->rows->field_count; i++)
        ms_json_string(w, v->rows->fields[i], row->values[i]);
    ms_json_close(w);
    ms_json_string(w, "verdict", ms_infer_row_verdict(row));
    if (row->reason)
        ms_json_string(w, "error", row->reason);
    else
        write_figures(w, row);
    ms_json_close(w);
}

bool ms_infer_rows_json(FILE *out, const ms_infer_view *v)
{
    ms_json_writer w = {.out = out};
    ms_json_array(&w, NULL);
    for (uint32_t i = 0; i < v->rows->rows.count; i++)
        write_row(&w, v, &v->rows->rows.items[i]);
    ms_json_close(&w);
    ms_json_writer_end(&w);
    return true;
}

/* ---- CSV ---- */

static void put_text(FILE *out, const char *text)
{
    fputc(',', out);
    if (text)
        ms_csv_put(out, text);
}

static void put_speed(FILE *out, const ms_infer_row *row, double per_s)
{
    char number[MS_SPEED_TEXT];
    fprintf(out, ",%s", row->reason ? "" : ms_infer_speed_number(per_s, number));
}

static void put_figures(FILE *out, const ms_infer_row *row)
{
    const uint64_t figures[] = {row->needed.expected, row->needed.low,   row->needed.high,
                                row->budget_bytes,    row->weight_bytes, row->cache_bytes,
                                row->host_bytes};
    for (size_t i = 0; i < sizeof figures / sizeof figures[0]; i++)
        if (row->reason)
            fputc(',', out);
        else
            fprintf(out, ",%" PRIu64, figures[i]);
    put_speed(out, row, row->speed.prefill.per_s);
    put_speed(out, row, row->speed.decode.per_s);
    put_text(out, row->lever);
    fputc(',', out);
    if (row->lever)
        fprintf(out, "%" PRIu64, row->lever_value);
    put_text(out, row->fit.value);
    put_text(out, row->fit.safe);
    put_text(out, row->fit.next);
    put_text(out, row->chosen);
    put_text(out, row->reason);
    fputc('\n', out);
}

bool ms_infer_csv(FILE *out, const ms_infer_view *v)
{
    const ms_infer_rows *rows = v->rows;
    fputs("model", out);
    for (uint32_t i = 0; i < rows->field_count; i++)
        put_text(out, rows->fields[i]);
    fputs(",verdict,bytes,low_bytes,high_bytes,budget_bytes,weight_bytes,cache_bytes,"
          "host_bytes,prefill_tokens_per_s,decode_tokens_per_s,most_setting,most_value,"
          "fit_value,fit_safe_value,fit_next,engine_fit,error\n",
          out);
    for (uint32_t i = 0; i < rows->rows.count; i++) {
        const ms_infer_row *row = &rows->rows.items[i];
        ms_csv_put(out, v->input->name);
        for (uint32_t k = 0; k < rows->field_count; k++)
            put_text(out, row->values[k]);
        put_text(out, ms_infer_row_verdict(row));
        put_figures(out, row);
    }
    return true;
}
