/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * static_report.json, the contract: schemas/static_report.schema.json says what it holds.
 */
#include <math.h>

#include "json/write.h"
#include "report/config_fields.h"
#include "report/json_operators.h"
#include "report/reporter.h"
#include "report/summary.h"

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
    ms_json_string(w, "peak_stage", s->peak_stage);
    ms_json_bool(w, "fits", s->fits);
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
    ms_field fields[MS_CONFIG_FIELDS];
    uint32_t count = ms_config_fields(view->ledger->model, view->arena, fields);
    ms_json_object(w, "config");
    for (uint32_t i = 0; i < count; i++)
        ms_field_json(w, &fields[i]);
    ms_json_close(w);
    return count > 0;
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

static void write_peak_categories(ms_json_writer *w, const ms_peak *peak)
{
    ms_json_array(w, "categories");
    for (uint32_t i = 0; i < MS_CATEGORY_COUNT; i++) {
        if (peak->category_count[i] == 0)
            continue;
        ms_json_object_inline(w, NULL);
        ms_json_string(w, "category", ms_json_category((uint8_t)i));
        ms_json_uint(w, "count", peak->category_count[i]);
        ms_json_uint(w, "bytes", peak->category_bytes[i]);
        ms_json_close(w);
    }
    ms_json_close(w);
}

static void write_peak_layers(ms_json_writer *w, const ms_peak *peak)
{
    ms_json_array(w, "layers");
    for (uint32_t i = 0; i < peak->layers.count; i++) {
        const ms_peak_layers *l = &peak->layers.items[i];
        ms_json_object_inline(w, NULL);
        if (l->first == MS_NONE)
            ms_json_null(w, "first_layer");
        else
            ms_json_uint(w, "first_layer", l->first);
        ms_json_uint(w, "count", l->count);
        ms_json_uint(w, "bytes", l->bytes);
        ms_json_close(w);
    }
    ms_json_close(w);
}

static void write_peak_tensors(ms_json_writer *w, const ms_view *view)
{
    const ms_peak *peak = &view->ledger->peak;
    const ms_trace *trace = &view->ledger->simulation->trace;
    ms_json_array(w, "tensors");
    for (uint32_t i = 0; i < peak->tensors.count; i++) {
        const ms_peak_tensor *t = &peak->tensors.items[i];
        const ms_storage *storage = &trace->storages.items[t->storage];
        ms_json_object_inline(w, NULL);
        ms_json_string(w, "name", view->tensors[i].label);
        ms_json_string(w, "category", ms_json_category(storage->category));
        ms_json_storage_shape(w, trace, storage);
        ms_json_string(w, "dtype", ms_dtype_info_of((ms_dtype)storage->dtype)->name);
        ms_json_uint(w, "count", t->count);
        ms_json_uint(w, "bytes", t->bytes);
        ms_json_close(w);
    }
    ms_json_close(w);
    ms_json_object_inline(w, "other_tensors");
    ms_json_uint(w, "count", peak->other_count);
    ms_json_uint(w, "bytes", peak->other_bytes);
    ms_json_close(w);
}

static void write_peak(ms_json_writer *w, const ms_view *view)
{
    const ms_ledger *ledger = view->ledger;
    ms_json_object(w, "peak");
    ms_json_uint(w, "bytes", ledger->peak.bytes);
    ms_json_string(w, "phase", ms_phase_name((ms_phase)ledger->peak.phase));
    ms_json_uint(w, "micro_step", ledger->peak.micro_step);
    ms_json_string(w, "operator", *view->peak_operator ? view->peak_operator : NULL);
    ms_json_uint(w, "event", ledger->peak.event - ledger->usage->steady_first_event);
    write_peak_categories(w, &ledger->peak);
    write_peak_layers(w, &ledger->peak);
    write_peak_tensors(w, view);
    ms_json_close(w);
}

static void write_suggestions(ms_json_writer *w, const ms_view *view)
{
    ms_json_array(w, "suggestions");
    for (uint32_t i = 0; view->advice && i < view->advice->suggestions.count; i++) {
        const ms_suggestion *s = &view->advice->suggestions.items[i];
        ms_json_object(w, NULL);
        ms_json_string(w, "title", s->title);
        ms_json_string(w, "option", s->option);
        ms_json_int(w, "saved_device_bytes", s->saved_device_bytes);
        ms_json_int(w, "saved_peak_bytes", s->saved_peak_bytes);
        ms_json_uint(w, "device_bytes", s->device_bytes);
        ms_json_bool(w, "fits", s->fits);
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
    write_metadata(&w, view);
    bool ok = write_config(&w, view);
    write_phases(&w, view->ledger->usage);
    write_evaluation(&w, ms_ledger_evaluation(view->ledger));
    write_peak(&w, view);
    write_suggestions(&w, view);
    write_not_modelled(&w, view);
    write_timeline(&w, view->ledger);
    ms_json_operators(&w, view);
    ms_json_close(&w);
    fputc('\n', out);
    return ok;
}
