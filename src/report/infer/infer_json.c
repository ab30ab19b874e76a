/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A prediction of inference as JSON (schemas/infer.schema.json).
 */
#include "base/json/write.h"
#include "memscope/infer.h"
#include "report/infer/choice_view.h"
#include "report/infer/rows_json.h"
#include "report/infer/speed_view.h"
#include "report/infer/stored_view.h"
#include "report/kit/writer_list.h"

static void write_buffer(ms_json_writer *w, const ms_infer_buffer *b, unsigned phases)
{
    ms_json_object(w, NULL);
    ms_json_string(w, "part", ms_infer_part_names[b->part]);
    ms_json_string(w, "place", b->place);
    if (b->device == MS_INFER_HOST)
        ms_json_null(w, "device");
    else
        ms_json_uint(w, "device", (uint64_t)b->device);
    ms_json_array_inline(w, "phases");
    for (int phase = 0; phase < MS_INFER_PHASES; phase++)
        if (b->phases & phases & MS_INFER_IN(phase))
            ms_json_string(w, NULL, ms_infer_phase_names[phase]);
    ms_json_close(w);
    ms_json_uint(w, "bytes", b->bytes);
    ms_json_uint(w, "low_bytes", b->low);
    ms_json_uint(w, "high_bytes", b->high);
    if (b->cells) {
        ms_json_uint(w, "cells", b->cells);
        ms_json_uint(w, "layers", b->layers);
    }
    ms_json_close(w);
}

static void write_phase(ms_json_writer *w, const ms_infer_view *v, ms_infer_phase phase)
{
    int device;
    ms_json_object(w, NULL);
    ms_json_string(w, "phase", ms_infer_phase_names[phase]);
    ms_json_array(w, "places");
    for (uint32_t i = 0; ms_infer_place_at(v, i, &device); i++) {
        ms_infer_bytes sum = ms_infer_total(&v->answer->result, device, phase);
        ms_json_object_inline(w, NULL);
        if (device == MS_INFER_HOST)
            ms_json_null(w, "device");
        else
            ms_json_uint(w, "device", (uint64_t)device);
        ms_json_uint(w, "bytes", sum.expected);
        ms_json_uint(w, "low_bytes", sum.low);
        ms_json_uint(w, "high_bytes", sum.high);
        ms_json_close(w);
    }
    ms_json_close(w);
    ms_json_close(w);
}

static void write_result(ms_json_writer *w, const ms_infer_view *v)
{
    const ms_infer_result *r = &v->answer->result;
    ms_json_array(w, "phases");
    for (int phase = 0; phase < MS_INFER_PHASES; phase++)
        if (v->answer->engine->phases & MS_INFER_IN(phase))
            write_phase(w, v, (ms_infer_phase)phase);
    ms_json_close(w);
    ms_json_array(w, "buffers");
    for (uint32_t i = 0; i < r->buffers.count; i++)
        write_buffer(w, &r->buffers.items[i], v->answer->engine->phases);
    ms_json_close(w);
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
