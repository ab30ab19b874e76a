/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A run on many devices, for programs.
 */
#include <string.h>

#include "base/json/write.h"
#include "memscope/devices.h"
#include "report/kit/writer_list.h"
#include "report/runs/runs_verdict.h"
#include "report/runs/runs_view.h"

static void write_count(ms_json_writer *w, const char *key, uint64_t value)
{
    if (value > 0)
        ms_json_uint(w, key, value);
    else
        ms_json_null(w, key);
}

static void write_time(ms_json_writer *w, const char *key, double value)
{
    if (value > 0)
        ms_json_double(w, key, value, 4);
    else
        ms_json_null(w, key);
}

static void write_figures(ms_json_writer *w, const ms_runs_view *v, const ms_runs_row *row)
{
    if (ms_runs_are_unknown(row))
        ms_json_null(w, "fits");
    else
        ms_json_bool(w, "fits", ms_runs_fits(row));
    ms_json_string(w, "verdict_reason", row->verdict_reason);
    ms_json_uint(w, "budget_bytes", row->budget_bytes);
    if (row->has_step) {
        ms_json_uint(w, "needed_bytes", row->needed_bytes);
        ms_json_int(w, "headroom_bytes", (int64_t)(row->budget_bytes - row->needed_bytes));
    } else {
        ms_json_null(w, "needed_bytes");
        ms_json_null(w, "headroom_bytes");
    }
    write_time(w, "step_time_ms", row->step_ms);
    write_time(w, "tokens_per_s", row->tokens_per_s);
    write_time(w, "tokens_per_s_per_gpu", row->tokens_per_s_per_gpu);
    write_time(w, "usd_per_hour", row->usd_per_hour);
    write_time(w, "usd_per_million_tokens", row->usd_per_million_tokens);
    if (v->question == MS_RUNS_FIT) {
        ms_json_uint(w, "value", row->value);
        ms_json_uint(w, "safe_value", row->safe_value);
        write_count(w, "next", row->next);
        ms_json_string(w, "stopped_by", row->stopped_by);
    } else if (v->question == MS_RUNS_PLAN) {
        ms_json_string(w, "treat", row->treat);
        write_time(w, "keep_all_step_time_ms", row->keep_all_ms);
    }
}

static void write_row(ms_json_writer *w, const ms_runs_view *v, const ms_runs_row *row)
{
    ms_json_object(w, NULL);
    for (uint32_t i = 0; i < v->field_count; i++)
        ms_json_string(w, v->fields[i], row->values[i]);
    ms_json_string(w, "verdict", ms_runs_verdict(row));
    if (row->error)
        ms_json_string(w, "error", row->error);
    else
        write_figures(w, v, row);
    ms_json_close(w);
}

bool ms_runs_json(FILE *out, const ms_runs_view *v)
{
    static const char *const questions[] = {"analyze", "fit", "plan"};
    ms_json_writer w = {.out = out};
    const ms_runs_row *smallest = NULL;
    for (uint32_t i = v->count; i-- > 0;)
        smallest = ms_runs_fits(&v->rows[i]) ? &v->rows[i] : smallest;
    ms_json_object(&w, NULL);
    ms_json_string(&w, "schema_version", MS_DEVICES_SCHEMA_VERSION);
    ms_json_string(&w, "question", questions[v->question]);
    ms_json_string(&w, "model", v->model);
    ms_json_string(&w, "what", v->what);
    ms_json_uint(&w, "device_count", v->count);
    ms_json_uint(&w, "fit_count", ms_runs_fit_count(v));
    ms_json_string(&w, "smallest", smallest ? smallest->values[0] : NULL);
    ms_json_array(&w, "devices");
    for (uint32_t i = 0; i < v->count; i++)
        write_row(&w, v, &v->rows[i]);
    ms_json_close(&w);
    ms_json_close(&w);
    ms_json_writer_end(&w);
    return true;
}
