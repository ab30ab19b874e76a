/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A prediction of inference as JSON (schemas/infer.schema.json).
 */
#include "base/json/members.h"
#include "input/document/inference.h"
#include "memscope/infer.h"
#include "report/infer/choice_view.h"
#include "report/infer/rows_json.h"
#include "report/infer/speed_view.h"
#include "report/infer/stored_view.h"
#include "report/kit/documents.h"
#include "report/kit/writer_list.h"

static uint64_t device_of(int device)
{
    return device == MS_INFER_HOST ? MS_SERVING_HOST : (uint64_t)device;
}

static ms_serving_buffer buffer_of(const ms_infer_view *v, const ms_infer_buffer *b)
{
    ms_serving_buffer made = {.part = ms_infer_part_names[b->part],
                              .place = b->place,
                              .device = device_of(b->device),
                              .bytes = b->bytes,
                              .low_bytes = b->low,
                              .high_bytes = b->high,
                              .phases = ms_arena_array(v->arena, const char *, MS_INFER_PHASES),
                              .cells = b->cells,
                              .layers = b->layers};
    for (int phase = 0; made.phases && phase < MS_INFER_PHASES; phase++)
        if (b->phases & v->answer->engine->phases & MS_INFER_IN(phase))
            made.phases[made.phase_count++] = ms_infer_phase_names[phase];
    return made;
}

static ms_serving_phase phase_of(const ms_infer_view *v, ms_infer_phase phase)
{
    ms_serving_phase made = {.name = ms_infer_phase_names[phase]};
    int device;
    uint32_t count = 0;
    while (ms_infer_place_at(v, count, &device))
        count++;
    made.places = ms_arena_array(v->arena, ms_serving_place, count);
    for (; made.places && made.count < count; made.count++) {
        (void)ms_infer_place_at(v, made.count, &device);
        const ms_infer_bytes sum = ms_infer_total(&v->answer->result, device, phase);
        made.places[made.count] =
            (ms_serving_place){device_of(device), sum.expected, sum.low, sum.high};
    }
    return made;
}

/* Where memory ran out, what there was room for; the arena has failed then. */
static ms_serving serving_of(const ms_infer_view *v)
{
    const ms_infer_result *r = &v->answer->result;
    ms_serving made = {
        .phases = ms_arena_array(v->arena, ms_serving_phase, MS_INFER_PHASES),
        .buffers = ms_arena_array(v->arena, ms_serving_buffer, r->buffers.count),
    };
    for (int phase = 0; made.phases && phase < MS_INFER_PHASES; phase++)
        if (v->answer->engine->phases & MS_INFER_IN(phase))
            made.phases[made.phase_count++] = phase_of(v, (ms_infer_phase)phase);
    for (; made.buffers && made.buffer_count < r->buffers.count; made.buffer_count++)
        made.buffers[made.buffer_count] = buffer_of(v, &r->buffers.items[made.buffer_count]);
    return made;
}

/* Those that were given, as their options take them. */
static void write_settings(ms_json_writer *w, const char *name, const void *view)
{
    const ms_infer_settings *s = ((const ms_infer_view *)view)->settings;
    ms_json_object(w, name);
    for (size_t i = 0; i < ms_infer_table.count; i++) {
        ms_config_shown shown = {.form = MS_SHOWN_NOWHERE};
        const ms_config_field *row = &ms_infer_table.rows[i];
        if (!ms_config_field_is_set(&ms_infer_table, s, i))
            continue;
        ms_config_field_show(row, s, &shown);
        if (shown.form == MS_SHOWN_TEXT)
            ms_json_string(w, row->name, shown.text);
        else if (shown.form == MS_SHOWN_COUNT)
            ms_json_uint(w, row->name, shown.count);
        else if (shown.form == MS_SHOWN_BOOL)
            ms_json_bool(w, row->name, shown.count != 0);
        else if (shown.form == MS_SHOWN_NUMBER)
            ms_json_double(w, row->name, shown.number, 6);
    }
    ms_json_close(w);
}

/* The view comes first, so that what is of a view is of a document. */
typedef struct document {
    ms_infer_view view;
    ms_serving serving;
    const char *verdict, *reason;
    bool has_stored;
} document;

#define OF_INPUT .from = MS_FROM(ms_infer_view, input)
#define OF_ANSWER .from = MS_FROM(ms_infer_view, answer)
#define INPUT(...) MS_MEMBER(ms_infer_input, __VA_ARGS__, OF_INPUT)
#define ANSWER(...) MS_MEMBER(ms_infer_answer, __VA_ARGS__, OF_ANSWER)
#define ENGINE(...)                                                                                \
    MS_MEMBER(ms_infer_engine, __VA_ARGS__, OF_ANSWER, .via = MS_FROM(ms_infer_answer, engine))

#define SETTING(...) MS_MEMBER(ms_infer_answer, __VA_ARGS__)
static const ms_member lever_members[] = {SETTING("setting", lever), SETTING("value", lever_value)};
static const ms_member other_members[] = {SETTING("setting", other.field),
                                          SETTING("value", other.value)};
static const ms_members lever_table = MS_MEMBERS(ms_infer_answer, lever_members);
static const ms_members other_table = MS_MEMBERS(ms_infer_answer, other_members);

static const ms_member figure_members[] = {
    MS_MEMBER(ms_infer_figure, "", name),
    MS_MEMBER(ms_infer_figure, "", value),
};
static const ms_members figure_table =
    MS_MEMBERS(ms_infer_figure, figure_members, .is_plain = true);

static const ms_member document_members[] = {
    INPUT("model", name, .rules = MS_OR_NULL),
    ENGINE("engine", name),
    ENGINE("engine_version", about),
    MS_MEMBER(ms_device, "device", name, OF_INPUT, .via = MS_FROM(ms_infer_input, device)),
    ANSWER("devices", result.devices),
    INPUT("budget_bytes", budget_bytes),
    ANSWER("context", context),
    MS_MEMBER(ms_infer_settings, "concurrency", concurrency,
              .from = MS_FROM(ms_infer_view, settings)),
    ANSWER("fits", fits),
    ANSWER("refusal", result.refusal, .rules = MS_IF_ANY),
    MS_MEMBER(document, "verdict", verdict),
    MS_MEMBER(document, "verdict_reason", reason),
    MS_WRITTEN("settings", write_settings),
    MS_PART("most_that_fits", &lever_table, .rules = MS_OR_NULL,
            .when = MS_PLACE(ms_infer_answer, lever), OF_ANSWER),
    MS_PART("fits_with", &other_table, .rules = MS_IF_ANY,
            .when = MS_PLACE(ms_infer_answer, other.field), OF_ANSWER),
    ANSWER("fit", fit, .rules = MS_IF_ANY, .when = MS_PLACE(ms_infer_answer, fit.what),
           .inner = &ms_infer_fit_table),
    ANSWER("engine_fit", choice, .rules = MS_IF_ANY,
           .when = MS_PLACE(ms_infer_answer, choice.program), .inner = &ms_infer_choice_table),
    MS_PART_AT(ms_infer_answer, "speed", speed, &ms_infer_speed_table, .make = ms_infer_speed_make,
               OF_ANSWER),
    MS_PART("stored", &ms_infer_stored_table, .rules = MS_IF_ANY,
            .when = MS_PLACE(document, has_stored)),
    MS_MEMBER(document, NULL, serving, .inner = &ms_serving_table),
    MS_ROWS(ms_infer_answer, "figures", result.figures.items, result.figures.count, &figure_table,
            .rules = MS_KEYED, OF_ANSWER),
    MS_ROWS(ms_infer_answer, "notes", result.notes.items, result.notes.count, &ms_plain_texts,
            OF_ANSWER),
};
const ms_members ms_infer_document = MS_MEMBERS(document, document_members);

bool ms_infer_json(FILE *out, const ms_infer_view *v)
{
    if (v->rows)
        return ms_infer_rows_json(out, v);
    const ms_fit_reason reason = ms_infer_reason(v->input, v->answer);
    const document d = {.view = *v,
                        .serving = serving_of(v),
                        .verdict = ms_fit_verdict_name(ms_reason_verdict(reason)),
                        .reason = ms_fit_reason_name(reason),
                        .has_stored = ms_infer_has_stored(v)};
    ms_members_document(out, MS_INFER_SCHEMA_VERSION, &ms_infer_document, &d);
    return !ms_arena_has_failed(v->arena);
}
