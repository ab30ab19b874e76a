/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A streamed model as JSON (schemas/stream.schema.json).
 */
#include "base/json/write.h"
#include "input/config/model/model_config.h"
#include "memscope/stream.h"
#include "report/kit/writer_list.h"
#include "report/stream/stream_run.h"
#include "report/stream/stream_times.h"
#include "report/view/fit_words.h"
#include "report/view/times.h"

static void write_times(ms_json_writer *w, const ms_stream_table *t, const ms_stream_row *r)
{
    if (!t->pass.is_timed) {
        ms_json_null(w, "times_ms");
        ms_json_null(w, "tokens_per_s");
        return;
    }
    ms_stream_times_json(w, "times_ms", &r->times);
    ms_json_double(w, "tokens_per_s", ms_stream_tokens_per_s(t, r), 6);
}

static void write_row(ms_json_writer *w, const ms_stream_table *t, const ms_stream_row *r)
{
    ms_json_object(w, NULL);
    ms_json_uint(w, "prefetch", r->prefetch);
    ms_json_uint(w, "places", r->places);
    ms_json_bool(w, "stays", r->stays);
    ms_fit_json(w, r->judgement.reason);
    ms_json_uint(w, "places_bytes", r->places_bytes);
    ms_json_uint(w, "outside_bytes", r->outside_bytes);
    ms_json_uint(w, "cache_bytes", r->cache_bytes);
    ms_json_uint(w, "other_bytes", r->other_bytes);
    ms_json_uint(w, "peak_memory_bytes", r->peak_bytes);
    ms_json_uint(w, "reserved_memory_bytes", r->reserved_bytes);
    ms_json_uint(w, "expected_device_bytes", r->judgement.device_bytes.expected);
    ms_json_uint(w, "pinned_bytes", r->pinned_bytes);
    write_times(w, t, r);
    ms_json_close(w);
}

static void write_count_or_null(ms_json_writer *w, const char *key, uint64_t count)
{
    if (count)
        ms_json_uint(w, key, count);
    else
        ms_json_null(w, key);
}

static void write_model(ms_json_writer *w, const ms_stream_view *v)
{
    const ms_stream_table *t = v->table;
    ms_json_string(w, "model", v->model->name);
    ms_json_string(w, "device", v->run->device->name);
    ms_json_uint(w, "budget_bytes", v->run->budget_bytes);
    ms_json_string(w, "phase", ms_inference_phase_names[t->phase]);
    ms_json_uint(w, "batch", v->run->batch);
    ms_json_uint(w, "seq", v->run->seq_tokens);
    ms_json_string(w, "dtype", ms_dtype_info_of(v->run->dtype)->short_name);
    ms_json_uint(w, "tokens_per_pass", t->tokens);
    ms_json_uint(w, "param_count", t->param_count);
    ms_json_uint(w, "layers", t->pass.layers.count);
    ms_json_uint(w, "place_bytes", t->pass.slot_bytes);
    ms_json_uint(w, "host_weight_bytes", t->pass.layers_bytes);
    ms_json_uint(w, "outside_weight_bytes", t->pass.outside_bytes);
}

bool ms_stream_json(FILE *out, const ms_stream_view *v)
{
    const ms_stream_table *t = v->table;
    const char *answer = ms_stream_answer(v);
    ms_json_writer w = {.out = out};
    if (!answer)
        return false;
    ms_json_object(&w, NULL);
    ms_json_string(&w, "schema_version", MS_STREAM_SCHEMA_VERSION);
    write_model(&w, v);
    ms_json_string(&w, "answer", answer);
    write_count_or_null(&w, "hides_from", t->enough.hides);
    write_count_or_null(&w, "gains_until", t->enough.best);
    ms_json_array(&w, "rows");
    for (uint32_t i = 0; i < t->rows.count; i++)
        write_row(&w, t, &t->rows.items[i]);
    ms_json_close(&w);
    if (t->pass.is_timed) {
        ms_json_object(&w, "times");
        ms_times_json(&w, v->arena, v->run);
        ms_json_close(&w);
    }
    if (v->ran)
        ms_stream_run_json(&w, v);
    ms_json_close(&w);
    ms_json_writer_end(&w);
    return !ms_arena_has_failed(v->arena);
}
