/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A probe as a runtime report: the members that a captured program's has, of which the figures are
 * those of the replay, and "replay".
 */
#include <stdio.h>

#include "base/json/write.h"
#include "memscope/recorded.h"
#include "report/kit/writer_list.h"
#include "report/runtime/probe_view.h"

/* Runtime reports have no phase for an evaluation or the build. */
static const char *phase_of(uint8_t phase)
{
    return phase == MS_PHASE_EVALUATION || phase == MS_PHASE_BUILD ? "between"
                                                                   : ms_phase_name((ms_phase)phase);
}

static void write_capability(ms_json_writer *w, const ms_backend_facts *f)
{
    char text[32];
    if (!f->compute_capability)
        return;
    snprintf(text, sizeof text, "%u.%u", (unsigned)(f->compute_capability / 10),
             (unsigned)(f->compute_capability % 10));
    ms_json_string(w, "compute_capability", text);
    ms_json_uint(w, "multiprocessors", f->multiprocessors);
}

static void write_metadata(ms_json_writer *w, const ms_probe_view *v)
{
    ms_json_object(w, "metadata");
    ms_json_string(w, "mode", "replay");
    ms_json_string(w, "device", v->run->device->name);
    ms_json_uint(w, "steps", v->status == MS_OK ? 1 : 0);
    ms_json_string(w, "python", "");
    ms_json_null(w, "torch");
    ms_json_array_inline(w, "command");
    ms_json_string(w, NULL, "memscope");
    ms_json_string(w, NULL, "probe");
    if (ms_probe_trace_name(v))
        ms_json_string(w, NULL, "--trace");
    ms_json_string(w, NULL, ms_probe_trace_name(v) ? ms_probe_trace_name(v) : ms_probe_title(v));
    ms_json_close(w);
    ms_json_string(w, "allocator", ms_allocator_names[v->run->allocator.kind]);
    ms_json_object(w, "libraries");
    ms_json_close(w);
    ms_json_string(w, "device_title", v->facts->title);
    ms_json_uint(w, "device_bytes", v->facts->total_bytes);
    write_capability(w, v->facts);
    ms_json_close(w);
}

static void write_summary(ms_json_writer *w, const ms_probe_view *v)
{
    const ms_replay_result *r = v->result;
    const ms_simulation *s = v->simulation;
    const uint64_t *c = r->category_bytes;
    ms_json_object(w, "summary");
    if (s) {
        ms_json_uint(w, "param_count", s->param_count);
        ms_json_uint(w, "trainable_param_count", s->trainable_param_count);
    }
    ms_json_uint(w, "weight_memory_bytes", c[MS_CATEGORY_WEIGHT]);
    ms_json_uint(w, "buffer_memory_bytes", c[MS_CATEGORY_BUFFER]);
    ms_json_uint(w, "grad_memory_bytes", c[MS_CATEGORY_GRADIENT]);
    ms_json_uint(w, "optimizer_memory_bytes", c[MS_CATEGORY_OPTIMIZER_STATE]);
    ms_json_uint(w, "activation_memory_bytes", c[MS_CATEGORY_ACTIVATION] + c[MS_CATEGORY_INPUT]);
    ms_json_uint(w, "temporary_memory_bytes", c[MS_CATEGORY_TEMPORARY] + c[MS_CATEGORY_WORKSPACE]);
    ms_json_uint(w, "persistent_memory_bytes",
                 c[MS_CATEGORY_WEIGHT] + c[MS_CATEGORY_BUFFER] + c[MS_CATEGORY_GRADIENT] +
                     c[MS_CATEGORY_OPTIMIZER_STATE]);
    if (s)
        ms_json_uint(w, "saved_bytes", s->saved_bytes);
    ms_json_uint(w, "after_build_bytes", r->after_build_bytes);
    ms_json_uint(w, "start_bytes", r->start_bytes);
    ms_json_uint(w, "peak_memory_bytes", r->peak_bytes);
    ms_json_uint(w, "reserved_memory_bytes", r->peak_reserved_bytes);
    ms_json_uint(w, "allocator_retries", r->retries);
    ms_json_string(w, "peak_stage", phase_of(r->peak_phase));
    if (!v->facts->is_simulated)
        ms_json_uint(w, "device_used_bytes", r->most_used_bytes);
    if (ms_probe_has_step_time(v))
        ms_json_double(w, "step_time_ms", r->step_ms, 4);
    ms_json_close(w);
}

static void write_phase(ms_json_writer *w, const ms_replay_phase *p)
{
    ms_json_object(w, NULL);
    ms_json_string(w, "phase", phase_of(p->phase));
    ms_json_uint(w, "micro_step", p->micro_step);
    ms_json_uint(w, "repeats", p->repeats);
    ms_json_uint(w, "start_bytes", p->start_bytes);
    ms_json_uint(w, "peak_bytes", p->peak_bytes);
    ms_json_uint(w, "end_bytes", p->end_bytes);
    ms_json_uint(w, "peak_requested_bytes", p->peak_requested_bytes);
    ms_json_uint(w, "end_requested_bytes", p->end_requested_bytes);
    ms_json_uint(w, "peak_reserved_bytes", p->peak_reserved_bytes);
    ms_json_uint(w, "end_reserved_bytes", p->end_reserved_bytes);
    ms_json_close(w);
}

/* Of the steady step; while that is not reached, of all that was played. */
static void write_phases(ms_json_writer *w, const ms_replay_result *r)
{
    ms_json_array(w, "phases");
    for (uint32_t i = r->has_steady ? r->first_steady_phase : 0; i < r->phases.count; i++)
        write_phase(w, &r->phases.items[i]);
    ms_json_close(w);
}

/* ---- the replay itself ---- */

static void write_rows(ms_json_writer *w, const ms_probe_view *v)
{
    ms_probe_row rows[MS_PROBE_ROWS];
    uint32_t count = ms_probe_rows(v, rows);
    const ms_probe_row *most = ms_probe_most(rows, count);
    ms_json_array(w, "figures");
    for (uint32_t i = 0; i < count; i++) {
        ms_json_object_inline(w, NULL);
        ms_json_string(w, "name", rows[i].key);
        ms_json_double(w, "predicted", rows[i].predicted, rows[i].is_time ? 4 : 0);
        ms_json_double(w, "measured", rows[i].measured, rows[i].is_time ? 4 : 0);
        ms_json_close(w);
    }
    ms_json_close(w);
    ms_json_string(w, "disagrees_most", most ? most->key : NULL);
}

static const char *const time_keys[MS_REPLAY_TIMES] = {
    [MS_OP_PRODUCT] = "product",     [MS_OP_ATTENTION] = "attention", [MS_OP_OTHER] = "other",
    [MS_REPLAY_WAITING] = "waiting", [MS_REPLAY_BETWEEN] = "between",
};

static void write_times(ms_json_writer *w, const ms_replay_result *r)
{
    double waited = r->times_ms[MS_REPLAY_WAITING], hidden = r->copy_ms + r->host_ms - waited;
    if (!r->has_times) {
        ms_json_null(w, "times_ms");
        return;
    }
    ms_json_object(w, "times_ms");
    ms_json_double(w, "step", r->step_ms, 4);
    for (int i = 0; i < MS_REPLAY_TIMES; i++)
        ms_json_double(w, time_keys[i], r->times_ms[i], 4);
    ms_json_double(w, "copies", r->copy_ms, 4);
    ms_json_double(w, "host_updates", r->host_ms, 4);
    ms_json_double(w, "hidden", hidden > 0 ? hidden : 0, 4);
    ms_json_array(w, "phases");
    for (uint32_t i = r->first_steady_phase; i < r->phases.count; i++) {
        ms_json_object_inline(w, NULL);
        ms_json_string(w, "phase", phase_of(r->phases.items[i].phase));
        ms_json_uint(w, "micro_step", r->phases.items[i].micro_step);
        ms_json_double(w, "ms", r->phases.items[i].ms, 4);
        ms_json_close(w);
    }
    ms_json_close(w);
    ms_json_close(w);
}

static void write_replay(ms_json_writer *w, const ms_probe_view *v)
{
    const ms_replay_result *r = v->result;
    ms_json_object(w, "replay");
    ms_json_string(w, "backend", v->backend);
    ms_json_string(w, "versions", v->facts->versions);
    ms_json_bool(w, "simulated_device", v->facts->is_simulated);
    ms_json_bool(w, "memory_only", v->is_memory_only);
    ms_json_bool(w, "partial", v->status != MS_OK);
    ms_json_uint(w, "played_events", r->played_events);
    ms_json_uint(w, "event_count", r->event_count);
    ms_json_uint(w, "before_used_bytes", r->before_used_bytes);
    ms_json_uint(w, "most_used_bytes", r->most_used_bytes);
    ms_json_uint(w, "own_bytes", r->landing_bytes);
    ms_json_uint(w, "most_reserved_bytes", r->most_reserved_bytes);
    ms_json_uint(w, "operators", r->operators);
    ms_json_uint(w, "products", r->products);
    ms_json_uint(w, "product_flops", r->product_flops);
    ms_json_uint(w, "skipped_flops", r->skipped_flops);
    ms_json_uint(w, "traffic_bytes", r->traffic_bytes);
    ms_json_uint(w, "copies", r->copies);
    ms_json_uint(w, "copied_bytes", r->copied_bytes);
    write_times(w, r);
    write_rows(w, v);
    ms_json_close(w);
}

bool ms_probe_json(FILE *out, const ms_probe_view *v)
{
    ms_json_writer w = {.out = out};
    ms_json_object(&w, NULL);
    ms_json_string(&w, "schema_version", MS_RUNTIME_SCHEMA_VERSION);
    ms_json_string(&w, "outcome", ms_probe_outcome(v));
    ms_json_string(&w, "message", v->status == MS_OK ? NULL : v->message);
    write_metadata(&w, v);
    write_summary(&w, v);
    write_phases(&w, v->result);
    write_replay(&w, v);
    ms_json_close(&w);
    ms_json_writer_end(&w);
    return true;
}
