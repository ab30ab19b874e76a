/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A diff as JSON; schemas/diff.schema.json defines it.
 */
#include <math.h>

#include "base/json/write.h"
#include "report/kit/writer_list.h"
#include "report/diff/diff_view.h"
#include "report/view/fit_words.h"

static void write_side(ms_json_writer *w, const char *key, const ms_report *r, const char *name)
{
    ms_json_object(w, key);
    ms_json_string(w, "name", name);
    ms_json_string(w, "model", r->name);
    ms_json_string(w, "device", r->device);
    ms_json_string(w, "peak_stage", r->peak_phase);
    ms_json_double(w, "step_time_ms", r->step_ms > 0 ? r->step_ms : NAN, 3);
    if (r->has_reason) {
        ms_fit_json(w, r->reason);
    } else {
        ms_json_null(w, "fits");
        ms_json_null(w, "verdict");
        ms_json_null(w, "verdict_reason");
    }
    const char *several = ms_report_setting(r, "several_gpus");
    if (several)
        ms_json_string(w, "several_gpus", several);
    ms_json_close(w);
}

/* b - a; what 63 bits cannot hold stays at their end. */
static int64_t change_of(uint64_t a, uint64_t b)
{
    uint64_t most = INT64_MAX, size = b > a ? b - a : a - b;
    int64_t kept = (int64_t)(size < most ? size : most);
    return b > a ? kept : -kept;
}

static void write_sizes(ms_json_writer *w, uint64_t a_bytes, uint64_t b_bytes)
{
    ms_json_uint(w, "a_bytes", a_bytes);
    ms_json_uint(w, "b_bytes", b_bytes);
    ms_json_int(w, "change_bytes", change_of(a_bytes, b_bytes));
}

static void write_fields(ms_json_writer *w, const char *key, const ms_field_change *rows,
                         uint32_t count)
{
    ms_json_array(w, key);
    for (uint32_t i = 0; i < count; i++) {
        ms_json_object_inline(w, NULL);
        ms_json_string(w, "change", ms_diff_kind_names[rows[i].change]);
        ms_json_string(w, "name", rows[i].name);
        ms_json_string(w, "a", rows[i].a);
        ms_json_string(w, "b", rows[i].b);
        ms_json_close(w);
    }
    ms_json_close(w);
}

static void write_table(ms_json_writer *w, const ms_diff *diff, ms_diff_table table)
{
    ms_json_array(w, ms_diff_titles[table].key);
    for (uint32_t i = 0; i < diff->tables[table].count; i++) {
        const ms_part_change *row = &diff->tables[table].items[i];
        ms_json_object_inline(w, NULL);
        ms_json_string(w, "change", ms_diff_kind_names[row->change]);
        ms_json_string(w, "name", row->name);
        if (*row->where)
            ms_json_string(w, "where", row->where);
        write_sizes(w, row->a_bytes, row->b_bytes);
        ms_json_close(w);
    }
    ms_json_close(w);
}

bool ms_diff_json(FILE *out, const ms_diff_view *v)
{
    const ms_diff *diff = v->diff;
    ms_json_writer w = {.out = out};
    ms_json_object(&w, NULL);
    ms_json_string(&w, "schema_version", MS_COMPARISON_SCHEMA_VERSION);
    ms_json_bool(&w, "same", diff->is_same);
    write_side(&w, "a", diff->a, v->a_name);
    write_side(&w, "b", diff->b, v->b_name);
    ms_json_object(&w, "figures");
    for (uint32_t i = 0; i < v->figure_count; i++) {
        ms_json_object_inline(&w, v->figures[i].key);
        write_sizes(&w, v->figures[i].a_bytes, v->figures[i].b_bytes);
        ms_json_close(&w);
    }
    ms_json_close(&w);
    write_fields(&w, "config", diff->config, diff->config_count);
    write_fields(&w, "settings", diff->settings, diff->settings_count);
    for (int i = 0; i < MS_DIFF_TABLES; i++)
        write_table(&w, diff, (ms_diff_table)i);
    ms_json_close(&w);
    ms_json_writer_end(&w);
    return true;
}
