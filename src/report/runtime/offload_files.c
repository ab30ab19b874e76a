/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * An offload by ratio as JSON (schemas/offload.schema.json), and as comma-separated values.
 */
#include <inttypes.h>
#include <math.h>

#include "base/json/write.h"
#include "memscope/probe.h"
#include "report/kit/writer_list.h"
#include "report/runtime/offload_view.h"
#include "report/view/fit_words.h"
#include "base/text/number.h"

static double ratio_of(const ms_offload_view *v, const ms_offload_row *row)
{
    return v->is_swept && row ? row->ratio : NAN;
}

/* ---- JSON ---- */

static void write_metadata(ms_json_writer *w, const ms_offload_view *v)
{
    ms_json_object(w, "metadata");
    ms_json_string(w, "mode", "offload");
    ms_json_string(w, "model", ms_offload_model(v));
    ms_json_string(w, "device", v->run->device->name);
    ms_json_bool(w, "partial", v->status != MS_OK);
    ms_json_string(w, "message", v->status != MS_OK ? v->message : NULL);
    ms_json_string(w, "backend", v->backend);
    if (v->backend) {
        ms_json_bool(w, "simulated_device", v->facts->is_simulated);
        ms_json_bool(w, "same_device", v->is_same_device);
        ms_json_bool(w, "memory_only", v->is_memory_only);
        ms_json_string(w, "device_title", v->facts->title);
        ms_json_string(w, "versions", v->facts->versions);
        ms_json_uint(w, "device_bytes", v->facts->total_bytes);
    }
    ms_json_close(w);
}

static void write_summary(ms_json_writer *w, const ms_offload_view *v)
{
    char text[MS_OFFLOAD_TEXT];
    ms_json_object(w, "summary");
    ms_json_string(w, "decision", ms_offload_decision(v, text));
    ms_json_string(w, "link", ms_offload_about_link(v, text));
    ms_json_uint(w, "budget_bytes", v->run->budget_bytes);
    ms_json_double(w, "least_ratio_that_fits", ratio_of(v, ms_offload_least(v)), 6);
    ms_json_double(w, "saturated_from_ratio", ratio_of(v, ms_offload_saturated(v)), 6);
    ms_json_close(w);
}

static void write_tags(ms_json_writer *w, const ms_offload_view *v)
{
    ms_json_array(w, "tags");
    for (uint32_t i = 0; i < v->tags->count; i++) {
        const ms_offload_tag *tag = &v->tags->items[i];
        ms_json_object_inline(w, NULL);
        ms_json_string(w, "tag", tag->name);
        ms_json_double(w, "ratio", tag->has_ratio ? tag->ratio : NAN, 6);
        ms_json_uint(w, "saved_bytes", v->rows->items[0].bytes[i].total_bytes);
        ms_json_close(w);
    }
    ms_json_close(w);
}

static void write_figures(ms_json_writer *w, const char *key, const ms_offload_figures *f)
{
    ms_json_object(w, key);
    ms_json_uint(w, "peak_memory_bytes", f->peak_bytes);
    ms_json_uint(w, "reserved_memory_bytes", f->reserved_bytes);
    ms_json_uint(w, "host_memory_bytes", f->host_bytes);
    if (f->has_times) {
        ms_json_double(w, "step_time_ms", f->step_ms, 4);
        ms_json_double(w, "exposed_copy_ms", f->exposed_ms, 4);
        ms_json_double(w, "copy_ms", f->copy_ms, 4);
        ms_json_double(w, "link_use", ms_offload_link_use(f), 6);
    }
    ms_json_close(w);
}

static void write_row(ms_json_writer *w, const ms_offload_view *v, const ms_offload_row *row)
{
    ms_json_object(w, NULL);
    ms_json_double(w, "ratio", ratio_of(v, row), 6);
    ms_json_uint(w, "offloaded_bytes", ms_offload_row_bytes(v, row).sent_bytes);
    ms_json_array_inline(w, "offloaded_by_tag");
    for (uint32_t i = 0; i < v->tags->count; i++)
        ms_json_uint(w, NULL, row->bytes[i].sent_bytes);
    ms_json_close(w);
    ms_json_uint(w, "device_bytes", row->device_bytes);
    ms_fit_json(w, row->reason);
    write_figures(w, "predicted", &row->predicted);
    if (row->has_measured)
        write_figures(w, "measured", &row->measured);
    else
        ms_json_null(w, "measured");
    ms_json_bool(w, "device_full", row->is_full);
    ms_json_close(w);
}

bool ms_offload_json(FILE *out, const ms_offload_view *v)
{
    ms_json_writer w = {.out = out};
    ms_json_object(&w, NULL);
    ms_json_string(&w, "schema_version", MS_OFFLOAD_SCHEMA_VERSION);
    write_metadata(&w, v);
    write_summary(&w, v);
    write_tags(&w, v);
    ms_json_array(&w, "ratios");
    for (uint32_t i = 0; i < v->rows->count; i++)
        write_row(&w, v, &v->rows->items[i]);
    ms_json_close(&w);
    ms_json_close(&w);
    ms_json_writer_end(&w);
    return true;
}

/* ---- CSV ---- */

static void put_figures(FILE *out, const ms_offload_figures *f, bool is_there)
{
    const double times[] = {f->step_ms, f->exposed_ms, f->copy_ms, ms_offload_link_use(f)};
    if (is_there)
        fprintf(out, ",%" PRIu64 ",%" PRIu64 ",%" PRIu64, f->peak_bytes, f->reserved_bytes,
                f->host_bytes);
    else
        fputs(",,,", out);
    for (size_t i = 0; i < sizeof times / sizeof times[0]; i++) {
        char text[MS_FIXED_TEXT];
        fprintf(out, ",%s", is_there && f->has_times ? ms_fixed(times[i], 6, text) : "");
    }
}

bool ms_offload_csv(FILE *out, const ms_offload_view *v)
{
    static const char *const sides[] = {"predicted", "measured"};
    fputs("ratio,offloaded_bytes,device_bytes,verdict,device_full", out);
    for (int i = 0; i < 2; i++)
        fprintf(out,
                ",%s_peak_memory_bytes,%s_reserved_memory_bytes,%s_host_memory_bytes,"
                "%s_step_time_ms,%s_exposed_copy_ms,%s_copy_ms,%s_link_use",
                sides[i], sides[i], sides[i], sides[i], sides[i], sides[i], sides[i]);
    fputc('\n', out);
    for (uint32_t i = 0; i < v->rows->count; i++) {
        const ms_offload_row *row = &v->rows->items[i];
        char ratio[MS_FIXED_TEXT];
        fprintf(out, "%s,%" PRIu64 ",%" PRIu64 ",%s,%s",
                v->is_swept ? ms_fixed(row->ratio, 6, ratio) : "",
                ms_offload_row_bytes(v, row).sent_bytes, row->device_bytes,
                ms_fit_cell(row->reason), row->is_full ? "true" : "false");
        put_figures(out, &row->predicted, true);
        put_figures(out, &row->measured, row->has_measured);
        fputc('\n', out);
    }
    return true;
}
