/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * static_report.json, defined by schemas/static_report.schema.json.
 */
#include <math.h>

#include "base/json/write.h"
#include "report/view/inputs.h"
#include "report/view/calibrated.h"
#include "report/view/config_fields.h"
#include "report/view/fit_words.h"
#include "report/view/suggestions.h"
#include "report/step/json_levels.h"
#include "report/step/json_operators.h"
#include "report/step/json_peak.h"
#include "report/step/json_times.h"
#include "report/kit/writer_list.h"
#include "report/view/view.h"
#include "report/view/summary.h"
#include "report/ranks/communication.h"
#include "report/ranks/one_device_table.h"
#include "report/ranks/rank_table.h"

static void write_summary(ms_json_writer *w, const ms_summary *s)
{
    const ms_summary_row *row;
    size_t i = 0;
    ms_json_object(w, "summary");
    for (; (row = ms_summary_row_at(i)) != NULL && !row->is_of_host; i++)
        ms_json_uint(w, row->name, ms_summary_value(s, row));
    if (s->balanced_peak_bytes) {
        ms_json_uint(w, "balanced_peak_bytes", s->balanced_peak_bytes);
        ms_json_uint(w, "skewed_peak_bytes", s->skewed_peak_bytes);
    }
    if (s->evaluation_peak_bytes) {
        ms_json_uint(w, "evaluation_peak_bytes", s->evaluation_peak_bytes);
        ms_json_uint(w, "evaluation_reserved_bytes", s->evaluation_reserved_bytes);
    }
    if (s->first_step_reserved_bytes)
        ms_json_uint(w, "first_step_reserved_bytes", s->first_step_reserved_bytes);
    if (s->slow_device_reserved_bytes)
        ms_json_uint(w, "slow_device_reserved_bytes", s->slow_device_reserved_bytes);
    ms_json_string(w, "peak_stage", s->peak_stage);
    ms_json_string(w, "job_peak_stage", s->job_peak_stage);
    ms_fit_json(w, s->verdict_reason);
    if (s->budget_bytes) {
        ms_json_uint(w, "budget_bytes", s->budget_bytes);
        ms_json_int(w, "headroom_bytes", s->headroom_bytes);
    } else {
        ms_json_null(w, "budget_bytes");
        ms_json_null(w, "headroom_bytes");
    }
    bool is_timed = s->step_time_ms > 0;
    ms_json_double(w, "step_time_ms", is_timed ? s->step_time_ms : NAN, 3);
    ms_json_double(w, "exposed_copy_ms", is_timed ? s->exposed_copy_ms : NAN, 3);
    ms_json_uint(w, "tokens", s->tokens);
    ms_json_double(w, "tokens_per_s", is_timed ? s->tokens_per_s : NAN, 4);
    ms_json_double(w, "tokens_per_s_per_gpu", is_timed ? s->tokens_per_s_per_gpu : NAN, 4);
    for (; (row = ms_summary_row_at(i)) != NULL; i++)
        ms_json_uint(w, row->name, ms_summary_value(s, row));
    ms_json_close(w);
}

static void write_metadata(ms_json_writer *w, const ms_view *view)
{
    const ms_trace *trace = &view->ledger->simulation->trace;
    ms_json_object(w, "metadata");
    ms_json_string(w, "mode", "train");
    for (uint32_t i = 0; i < view->metadata_count; i++)
        ms_field_json(w, &view->metadata[i]);
    ms_json_bool(w, "folded", view->ledger->mode == MS_FOLD_LAYERS);
    ms_json_object_inline(w, "symbols");
    for (uint32_t i = 0; i < trace->symbols.table.count; i++) {
        const ms_symbol *s = &trace->symbols.table.items[i];
        if (s->kind == MS_SYMBOL_NAME)
            ms_json_uint(w, s->text, s->value);
    }
    ms_json_close(w);
    ms_json_close(w);
}

static bool write_config(ms_json_writer *w, const ms_view *view)
{
    ms_field_list fields;
    bool is_whole = ms_config_fields(view->ledger->model, view->arena, &fields);
    ms_json_object(w, "config");
    for (uint32_t i = 0; i < fields.count; i++)
        ms_field_json(w, &fields.items[i]);
    ms_json_close(w);
    return is_whole;
}

static void write_phase(ms_json_writer *w, const char *name, const ms_phase_usage *u)
{
    ms_json_object(w, name);
    ms_json_string(w, "phase", ms_phase_name((ms_phase)u->phase));
    ms_json_uint(w, "micro_step", u->micro_step);
    ms_json_uint(w, "repeats", u->repeats);
    ms_json_uint(w, "start_bytes", u->start_bytes);
    ms_json_uint(w, "peak_bytes", u->peak_bytes);
    ms_json_uint(w, "end_bytes", u->end_bytes);
    ms_json_uint(w, "peak_requested_bytes", u->peak_requested_bytes);
    ms_json_uint(w, "end_requested_bytes", u->end_requested_bytes);
    ms_json_uint(w, "peak_reserved_bytes", u->peak_reserved_bytes);
    ms_json_uint(w, "end_reserved_bytes", u->end_reserved_bytes);
    ms_json_close(w);
}

static void write_phases(ms_json_writer *w, const ms_usage *usage)
{
    ms_json_array(w, "phases");
    for (uint32_t i = usage->first_steady_phase; i < usage->phases.count; i++)
        write_phase(w, NULL, &usage->phases.items[i]);
    ms_json_close(w);
    ms_json_array(w, "first_step_phases");
    for (uint32_t i = 0; i < usage->phases.count; i++)
        if (usage->phases.items[i].step == 1)
            write_phase(w, NULL, &usage->phases.items[i]);
    ms_json_close(w);
}

static void write_evaluation(ms_json_writer *w, const ms_phase_usage *evaluation)
{
    if (evaluation)
        write_phase(w, "evaluation", evaluation);
}

static void write_notes(ms_json_writer *w, const ms_view *view)
{
    ms_json_array(w, "notes");
    for (uint32_t i = 0; i < view->finding_count; i++) {
        const ms_finding *f = &view->findings[i];
        ms_json_object(w, NULL);
        ms_json_string(w, "name", f->name);
        ms_json_string(w, "text", f->text);
        if (f->bytes)
            ms_json_uint(w, "bytes", f->bytes);
        else
            ms_json_null(w, "bytes");
        ms_json_array(w, "remedies");
        for (uint32_t k = 0; k < f->remedy_count; k++) {
            const ms_remedy *r = &f->remedies[k];
            ms_json_object(w, NULL);
            ms_json_string(w, "option", r->option);
            ms_json_int(w, "saved_device_bytes", r->saved_device_bytes);
            ms_json_uint(w, "device_bytes", r->device_bytes);
            ms_json_uint(w, "allocator_retries", r->retries);
            ms_json_close(w);
        }
        ms_json_close(w);
        ms_json_close(w);
    }
    ms_json_close(w);
}

static void write_not_modelled(ms_json_writer *w, const ms_view *view)
{
    ms_json_array(w, "not_modelled");
    const char *text;
    for (size_t i = 0; (text = ms_ledger_not_modelled(view->ledger, i)) != NULL; i++)
        ms_json_string(w, NULL, text);
    ms_json_close(w);
}

static void write_timeline(ms_json_writer *w, const ms_ledger *ledger)
{
    ms_json_array(w, "timeline");
    for (uint32_t i = 0; i < ledger->timeline.count; i++) {
        const ms_timeline_point *point = &ledger->timeline.items[i];
        ms_json_object_inline(w, NULL);
        ms_json_uint(w, "event", point->event);
        ms_json_string(w, "phase", ms_phase_name((ms_phase)point->phase));
        ms_json_uint(w, "bytes", point->bytes);
        ms_json_close(w);
    }
    ms_json_close(w);
}

bool ms_report_json(FILE *out, const ms_view *view)
{
    ms_json_writer w = {.out = out};
    ms_json_object(&w, NULL);
    ms_json_string(&w, "schema_version", MS_REPORT_SCHEMA_VERSION);
    write_summary(&w, view->summary);
    ms_json_string(&w, "why", view->peak_why);
    write_metadata(&w, view);
    bool ok = write_config(&w, view);
    ms_rank_table_json(&w, view);
    ms_one_device_json(&w, view);
    ms_communication_json(&w, view);
    write_phases(&w, view->ledger->usage);
    write_evaluation(&w, ms_ledger_evaluation(view->ledger));
    ms_json_peak(&w, view);
    ok = ms_json_modules(&w, view) && ok;
    write_notes(&w, view);
    ms_suggestions_json(&w, view);
    ms_calibrated_json(&w, view->ledger->run, view->arena);
    ms_json_times(&w, view);
    ms_inputs_json(&w, &view->ledger->run->keys);
    write_not_modelled(&w, view);
    write_timeline(&w, view->ledger);
    ms_json_levels(&w, view->ledger);
    ms_json_operators(&w, view);
    ms_json_close(&w);
    ms_json_writer_end(&w);
    return ok;
}
