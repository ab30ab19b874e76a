/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * static_report.json, defined by schemas/static_report.schema.json.
 */
#include "base/json/members.h"
#include "core/trace/words.h"
#include "report/kit/documents.h"
#include "report/kit/writer_list.h"
#include "report/ranks/communication.h"
#include "report/ranks/one_device_table.h"
#include "report/ranks/rank_table.h"
#include "report/step/json_levels.h"
#include "report/step/json_operators.h"
#include "report/step/json_peak.h"
#include "report/step/json_times.h"
#include "report/view/calibrated.h"
#include "report/view/config_fields.h"
#include "report/view/inputs.h"
#include "report/view/suggestions.h"
#include "report/view/summary.h"
#include "report/view/view.h"

/* ---- what the run is ---- */

static void write_metadata(ms_json_writer *w, const char *name, const void *of)
{
    const ms_view *view = of;
    const ms_trace *trace = &view->ledger->simulation->trace;
    ms_json_object(w, name);
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

static void write_config(ms_json_writer *w, const char *name, const void *of)
{
    const ms_view *view = of;
    ms_field_list fields;
    (void)ms_config_fields(view->ledger->model, view->arena, &fields);
    ms_json_object(w, name);
    for (uint32_t i = 0; i < fields.count; i++)
        ms_field_json(w, &fields.items[i]);
    ms_json_close(w);
}

/* ---- phases ---- */

#define PHASE(...) MS_MEMBER(ms_phase_usage, __VA_ARGS__)
static const ms_member phase_members[] = {
    PHASE("phase", phase, .words = &ms_phase_words),
    PHASE("micro_step", micro_step),
    PHASE("repeats", repeats),
    PHASE("start_bytes", start_bytes),
    PHASE("peak_bytes", peak_bytes),
    PHASE("end_bytes", end_bytes),
    PHASE("peak_requested_bytes", peak_requested_bytes),
    PHASE("end_requested_bytes", end_requested_bytes),
    PHASE("peak_reserved_bytes", peak_reserved_bytes),
    PHASE("end_reserved_bytes", end_reserved_bytes),
};
static const ms_members phase_table = MS_MEMBERS(ms_phase_usage, phase_members);

typedef struct phases {
    const ms_phase_usage *steady, *first, *evaluation;
    uint32_t steady_count, first_count;
} phases;
static const ms_member phases_members[] = {
    MS_ROWS(phases, "phases", steady, steady_count, &phase_table),
    MS_ROWS(phases, "first_step_phases", first, first_count, &phase_table),
    MS_MEMBER(phases, "evaluation", evaluation, .rules = MS_IF_ANY | MS_THROUGH,
              .inner = &phase_table),
};
static const ms_members phases_table = MS_MEMBERS(phases, phases_members);

static void make_phases(const void *view, void *made)
{
    const ms_ledger *ledger = ((const ms_view *)view)->ledger;
    const ms_usage *usage = ledger->usage;
    const ms_phase_usage *all = usage->phases.items;
    uint32_t first = 0;
    while (first < usage->phases.count && all[first].step == 1)
        first++;
    *(phases *)made = (phases){.steady = all + usage->first_steady_phase,
                               .steady_count = usage->phases.count - usage->first_steady_phase,
                               .first = all,
                               .first_count = first,
                               .evaluation = ms_ledger_evaluation(ledger)};
}

/* ---- notes ---- */

#define REMEDY(...) MS_MEMBER(ms_remedy, __VA_ARGS__)
static const ms_member remedy_members[] = {
    REMEDY("option", option),
    REMEDY("saved_device_bytes", saved_device_bytes),
    REMEDY("device_bytes", device_bytes),
    REMEDY("allocator_retries", retries),
};
static const ms_members remedy_table = MS_MEMBERS(ms_remedy, remedy_members);

static const ms_member note_members[] = {
    MS_MEMBER(ms_finding, "name", name),
    MS_MEMBER(ms_finding, "text", text),
    MS_MEMBER(ms_finding, "bytes", bytes, .rules = MS_OR_NULL),
    MS_ROWS(ms_finding, "remedies", remedies, remedy_count, &remedy_table, .rules = MS_INSIDE),
};
static const ms_members note_table = MS_MEMBERS(ms_finding, note_members);

static void write_not_modelled(ms_json_writer *w, const char *name, const void *view)
{
    const char *text;
    ms_json_array(w, name);
    for (size_t i = 0; (text = ms_ledger_not_modelled(((const ms_view *)view)->ledger, i)) != NULL;
         i++)
        ms_json_string(w, NULL, text);
    ms_json_close(w);
}

typedef struct suggestions {
    const ms_suggestion *items;
    uint32_t count;
} suggestions;
static const ms_member suggestions_members[] = {
    MS_ROWS(suggestions, "suggestions", items, count, &ms_suggestion_table)};
static const ms_members suggestions_table = MS_MEMBERS(suggestions, suggestions_members);

static void make_suggestions(const void *view, void *made)
{
    const ms_advice *advice = ((const ms_view *)view)->advice;
    if (advice)
        *(suggestions *)made = (suggestions){advice->suggestions.items, advice->suggestions.count};
}

static void write_calibration(ms_json_writer *w, const char *name, const void *of)
{
    const ms_view *view = of;
    (void)name;
    ms_calibrated_json(w, view->ledger->run, view->arena);
}

/* ---- the document ---- */

static const ms_member point_members[] = {
    MS_MEMBER(ms_timeline_point, "event", event),
    MS_MEMBER(ms_timeline_point, "phase", phase, .words = &ms_phase_words,
              .most = MS_PHASE_ZERO_GRAD),
    MS_MEMBER(ms_timeline_point, "bytes", bytes),
};
static const ms_members point_table =
    MS_MEMBERS(ms_timeline_point, point_members, .is_inline = true);

/* The view comes first, so that what is of a view is of a document. */
typedef struct document {
    ms_view view;
    ms_module_rows modules;
} document;

#define OF_LEDGER .from = MS_FROM(ms_view, ledger)
static const ms_member document_members[] = {
    MS_MEMBER(ms_view, "summary", summary, .rules = MS_THROUGH, .inner = &ms_summary_table),
    MS_MEMBER(ms_view, "why", peak_why),
    MS_WRITTEN("metadata", write_metadata),
    MS_WRITTEN("config", write_config),
    MS_WRITTEN("ranks", ms_rank_table_json),
    MS_WRITTEN("one_device", ms_one_device_json),
    MS_WRITTEN("communication", ms_communication_json),
    MS_PART(NULL, &phases_table, .make = make_phases),
    MS_PART("peak", &ms_peak_table, .make = ms_peak_make),
    MS_ROWS(document, "modules", modules.items, modules.count, &ms_module_table),
    MS_ROWS(ms_view, "notes", findings, finding_count, &note_table),
    MS_PART(NULL, &suggestions_table, .make = make_suggestions),
    MS_WRITTEN("calibration", write_calibration),
    MS_WRITTEN("times", ms_json_times),
    MS_MEMBER(ms_run_config, NULL, keys, .inner = &ms_inputs_table, OF_LEDGER,
              .via = MS_FROM(ms_ledger, run)),
    MS_WRITTEN("not_modelled", write_not_modelled),
    MS_ROWS(ms_ledger, "timeline", timeline.items, timeline.count, &point_table, OF_LEDGER),
    MS_WRITTEN("levels", ms_json_levels),
    MS_WRITTEN("operators", ms_json_operators),
};
const ms_members ms_report_document = MS_MEMBERS(document, document_members);

bool ms_report_json(FILE *out, const ms_view *view)
{
    document d = {.view = *view};
    if (!ms_module_rows_make(view, &d.modules))
        return false;
    ms_members_document(out, MS_REPORT_SCHEMA_VERSION, &ms_report_document, &d);
    return !ms_arena_has_failed(view->arena);
}
