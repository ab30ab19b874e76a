/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A prediction of inference as JSON (schemas/infer.schema.json).
 */
#include "json/write.h"
#include "memscope/infer.h"
#include "report/infer/rows_json.h"
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

bool ms_infer_json(FILE *out, const ms_infer_view *v)
{
    if (v->rows)
        return ms_infer_rows_json(out, v);
    const ms_infer_settings *s = v->settings;
    ms_json_writer w = {.out = out};
    ms_json_object(&w, NULL);
    ms_json_string(&w, "schema_version", MS_INFER_SCHEMA_VERSION);
    ms_json_string(&w, "model", v->input->name);
    ms_json_string(&w, "engine", v->answer->engine->name);
    ms_json_string(&w, "engine_version", v->answer->engine->about);
    ms_json_string(&w, "device", v->input->device->name);
    ms_json_uint(&w, "devices", v->answer->result.devices);
    ms_json_uint(&w, "budget_bytes", v->input->budget_bytes);
    ms_json_uint(&w, "context", ms_infer_context(v));
    ms_json_uint(&w, "concurrency", s->concurrency);
    ms_json_bool(&w, "fits", v->answer->fits);
    ms_infer_lever_json(&w, v->answer->lever, v->answer->lever_value);
    if (v->answer->fit.what)
        ms_infer_fit_json(&w, &v->answer->fit);
    write_result(&w, v);
    ms_json_close(&w);
    ms_json_writer_end(&w);
    return !ms_arena_has_failed(v->arena);
}
