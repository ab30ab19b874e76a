/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A comparison as JSON; schemas/compare.schema.json defines it.
 */
#include "decide/compare/compare_verdict.h"
#include "base/json/write.h"
#include "report/kit/writer_list.h"

static void write_figure(ms_json_writer *w, const char *key, bool is_there, uint64_t bytes)
{
    if (is_there)
        ms_json_uint(w, key, bytes);
    else
        ms_json_null(w, key);
}

static void write_row(ms_json_writer *w, const char *key, const ms_compare_row *row)
{
    ms_json_object_inline(w, key);
    ms_json_string(w, "name", row->name);
    ms_json_uint(w, "micro_step", row->micro_step);
    write_figure(w, "first_bytes", row->has_first, row->first_bytes);
    write_figure(w, "second_bytes", row->has_second, row->second_bytes);
    if (row->is_known)
        ms_json_int(w, "residual_bytes", row->residual);
    else
        ms_json_null(w, "residual_bytes");
    ms_json_double(w, "share_of_peak", row->of_peak, 6);
    ms_json_double(w, "share_of_residual", row->of_residual, 6);
    ms_json_close(w);
}

static void write_source(ms_json_writer *w, const char *key, const ms_recorded *r)
{
    ms_json_object(w, key);
    ms_json_string(w, "mode", ms_compare_mode(r));
    ms_json_string(w, "device", r->device);
    ms_json_string(w, "torch", r->torch);
    ms_json_close(w);
}

static void write_cause(ms_json_writer *w, const char *key, const ms_compare_row *row)
{
    if (row)
        write_row(w, key, row);
    else
        ms_json_null(w, key);
}

static void write_verdict(ms_json_writer *w, const ms_compare_view *v)
{
    ms_json_object(w, "verdict");
    ms_json_string(w, "text", v->verdict);
    ms_json_string(w, "why", v->why);
    ms_json_bool(w, "equal", v->is_equal);
    ms_json_bool(w, "near", v->is_near);
    ms_json_int(w, "residual_bytes", v->residual);
    write_cause(w, "category", v->cause);
    write_cause(w, "module", v->module);
    ms_json_array(w, "causes");
    for (uint32_t i = 0; i < v->cause_count; i++) {
        ms_json_object_inline(w, NULL);
        ms_json_string(w, "name", v->causes[i].name);
        ms_json_string(w, "first", v->causes[i].first);
        ms_json_string(w, "second", v->causes[i].second);
        ms_json_close(w);
    }
    ms_json_close(w);
    ms_json_bool(w, "explained", v->is_explained);
    ms_json_array(w, "notes");
    for (uint32_t i = 0; i < v->note_count; i++)
        ms_json_string(w, NULL, v->notes[i]);
    ms_json_close(w);
    ms_json_close(w);
}

static void write_parting(ms_json_writer *w, const ms_compare_parting *p)
{
    if (!p->is_known) {
        ms_json_null(w, "timelines");
        return;
    }
    ms_json_object(w, "timelines");
    ms_json_uint(w, "first_events", p->first_events);
    ms_json_uint(w, "second_events", p->second_events);
    ms_json_int(w, "residual_at_start_bytes", p->from_start);
    ms_json_uint(w, "last_same_event", p->same_event);
    if (p->has_parted) {
        ms_json_object_inline(w, "parted");
        ms_json_uint(w, "event", p->event);
        ms_json_string(w, "phase", p->phase);
        ms_json_uint(w, "first_bytes", p->first_bytes);
        ms_json_uint(w, "second_bytes", p->second_bytes);
        ms_json_close(w);
    } else {
        ms_json_null(w, "parted");
    }
    ms_json_close(w);
}

bool ms_compare_json(FILE *out, const ms_compare_view *v)
{
    ms_json_writer w = {.out = out};
    ms_json_object(&w, NULL);
    ms_json_string(&w, "schema_version", MS_COMPARE_SCHEMA_VERSION);
    write_verdict(&w, v);
    write_source(&w, "first", v->first);
    write_source(&w, "second", v->second);
    for (int t = 0; t < MS_COMPARE_TABLES; t++) {
        ms_json_array(&w, ms_compare_titles[t].key);
        for (uint32_t i = 0; i < v->tables[t].count; i++)
            write_row(&w, NULL, &v->tables[t].items[i]);
        ms_json_close(&w);
    }
    write_parting(&w, &v->parting);
    ms_json_close(&w);
    ms_json_writer_end(&w);
    return true;
}
