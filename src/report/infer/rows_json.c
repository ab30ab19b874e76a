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

#define FIT(...) MS_MEMBER(ms_infer_fit, __VA_ARGS__)
static const ms_member fit_members[] = {
    FIT("what", what),
    FIT("value", value, .rules = MS_OR_NULL),
    FIT("safe_value", safe, .rules = MS_OR_NULL),
    FIT("next", next, .rules = MS_OR_NULL),
    FIT("next_bytes", next_bytes, .rules = MS_OR_NULL),
    FIT("refusal", refusal, .rules = MS_OR_NULL),
    FIT("step", step, .rules = MS_OR_NULL),
    FIT("larger_excluded", has_all),
    FIT("trials", trials),
};
const ms_members ms_infer_fit_table = MS_MEMBERS(ms_infer_fit, fit_members);

#define ROW(...) MS_MEMBER(ms_infer_row, __VA_ARGS__)
static const ms_member lever_members[] = {ROW("setting", lever), ROW("value", lever_value)};
static const ms_members lever_table = MS_MEMBERS(ms_infer_row, lever_members);
static const ms_member figure_members[] = {
    ROW("device", device),
    ROW("devices", devices),
    ROW("budget_bytes", budget_bytes),
    ROW("context", context),
    ROW("concurrency", concurrency),
    ROW("fits", fits),
    ROW("bytes", needed.expected),
    ROW("low_bytes", needed.low),
    ROW("high_bytes", needed.high),
    ROW("weight_bytes", weight_bytes),
    ROW("cache_bytes", cache_bytes),
    ROW("host_bytes", host_bytes),
    MS_PART_AT(ms_infer_row, "speed", speed, &ms_infer_speed_table, .make = ms_infer_speed_make),
    MS_PART("most_that_fits", &lever_table, .rules = MS_OR_NULL,
            .when = MS_PLACE(ms_infer_row, lever)),
    ROW("fit", fit, .rules = MS_IF_ANY, .when = MS_PLACE(ms_infer_row, fit.what),
        .inner = &ms_infer_fit_table),
    ROW("engine_fit_arguments", chosen, .rules = MS_IF_ANY),
};
const ms_members ms_infer_row_table = MS_MEMBERS(ms_infer_row, figure_members);

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
        ms_members_write(w, &ms_infer_row_table, row);
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
