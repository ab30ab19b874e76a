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

static void write_result(ms_json_writer *w, const ms_infer_view *v)
{
    const ms_infer_result *r = &v->answer->result;
    const ms_serving serving = serving_of(v);
    ms_members_write(w, &ms_serving_table, &serving);
    ms_json_object(w, "figures");
    for (uint32_t i = 0; i < r->figures.count; i++)
        ms_json_uint(w, r->figures.items[i].name, r->figures.items[i].value);
    ms_json_close(w);
    ms_json_array(w, "notes");
    for (uint32_t i = 0; i < r->notes.count; i++)
        ms_json_string(w, NULL, r->notes.items[i]);
    ms_json_close(w);
}

/* Those that were given, as their options take them. */
static void write_settings(ms_json_writer *w, const ms_infer_settings *s)
{
    ms_json_object(w, "settings");
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

bool ms_infer_json(FILE *out, const ms_infer_view *v)
{
    if (v->rows)
        return ms_infer_rows_json(out, v);
    const ms_infer_settings *s = v->settings;
    ms_fit_reason reason = ms_infer_reason(v->input, v->answer);
    ms_json_writer w = {.out = out};
    ms_json_object(&w, NULL);
    ms_json_string(&w, "schema_version", MS_INFER_SCHEMA_VERSION);
    ms_json_string(&w, "model", v->input->name);
    ms_json_string(&w, "engine", v->answer->engine->name);
    ms_json_string(&w, "engine_version", v->answer->engine->about);
    ms_json_string(&w, "device", v->input->device->name);
    ms_json_uint(&w, "devices", v->answer->result.devices);
    ms_json_uint(&w, "budget_bytes", v->input->budget_bytes);
    ms_json_uint(&w, "context", v->answer->context);
    ms_json_uint(&w, "concurrency", s->concurrency);
    ms_json_bool(&w, "fits", v->answer->fits);
    if (v->answer->result.refusal)
        ms_json_string(&w, "refusal", v->answer->result.refusal);
    ms_json_string(&w, "verdict", ms_fit_verdict_name(ms_reason_verdict(reason)));
    ms_json_string(&w, "verdict_reason", ms_fit_reason_name(reason));
    write_settings(&w, s);
    ms_infer_lever_json(&w, v->answer->lever, v->answer->lever_value);
    if (v->answer->other.field) {
        ms_json_object(&w, "fits_with");
        ms_json_string(&w, "setting", v->answer->other.field);
        ms_json_string(&w, "value", v->answer->other.value);
        ms_json_close(&w);
    }
    if (v->answer->fit.what)
        ms_infer_fit_json(&w, &v->answer->fit);
    if (v->answer->choice.program)
        ms_infer_choice_json(&w, &v->answer->choice);
    ms_infer_speed_json(&w, &v->answer->speed);
    if (ms_infer_has_stored(v))
        ms_infer_stored_json(&w, v);
    write_result(&w, v);
    ms_json_close(&w);
    ms_json_writer_end(&w);
    return !ms_arena_has_failed(v->arena);
}
