/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/runtime/probe_view.h"

#include <math.h>
#include <string.h>

#include "input/config/model/model_config.h"

typedef struct rows {
    ms_probe_row *items;
    uint32_t count;
} rows;

static void add(rows *r, ms_probe_row row)
{
    if (r->count < MS_PROBE_ROWS)
        r->items[r->count++] = row;
}

static void add_bytes(rows *r, const char *key, const char *title, uint64_t predicted,
                      uint64_t measured)
{
    add(r, (ms_probe_row){key, title, false, (double)predicted, (double)measured});
}

/* The driver's figure grows by what is reserved, in the driver's own units. */
static void add_memory(rows *r, const ms_probe_view *v)
{
    const ms_usage *u = v->predicted;
    const ms_replay_result *m = v->result;
    uint64_t grown = m->most_used_bytes - m->before_used_bytes - m->landing_bytes;
    add_bytes(r, "after_build_bytes", "allocated after the build", u->after_build_bytes,
              m->after_build_bytes);
    add_bytes(r, "peak_memory_bytes", "allocated, peak of the step", u->peak_bytes, m->peak_bytes);
    add_bytes(r, "reserved_memory_bytes", "reserved in the step", u->peak_reserved_bytes,
              m->peak_reserved_bytes);
    add_bytes(r, "most_reserved_bytes", "reserved at most", u->most_reserved_bytes,
              m->most_reserved_bytes);
    if (m->most_used_bytes >= m->before_used_bytes + m->landing_bytes)
        add_bytes(r, "device_grown_bytes",
                  v->facts->is_host ? "given out by the arena, counted"
                                    : "growth of device memory in use",
                  u->most_reserved_bytes, grown);
    if (!v->facts->is_host && !v->facts->is_simulated && v->is_same_device)
        add_bytes(r, "context_bytes", "in use before, incl. CUDA context",
                  v->run->device->context_expected_bytes, m->before_used_bytes);
}

/* A step is as long as the device's, unless some of its arithmetic did not run. */
bool ms_probe_has_step_time(const ms_probe_view *view)
{
    return view->result->has_times && view->result->skipped_flops == 0;
}

/* The phases of a step that take time. */
static const struct {
    const char *key, *title;
} phase_rows[MS_PHASE_COUNT] = {
    [MS_PHASE_FORWARD] = {"forward_ms", "time of forward"},
    [MS_PHASE_BACKWARD] = {"backward_ms", "time of backward"},
    [MS_PHASE_CLIP] = {"clip_ms", "time of clip"},
    [MS_PHASE_OPTIMIZER] = {"optimizer_ms", "time of optimizer"},
    [MS_PHASE_EVALUATION] = {"evaluation_ms", "time of evaluation"},
};

/* Of all micro-steps. */
static double predicted_ms(const ms_profile *profile, int phase)
{
    double ms = 0;
    for (uint32_t i = 0; i < profile->spans.count; i++) {
        const ms_profile_span *s = &profile->spans.items[i];
        if (s->phase == phase)
            ms += (s->compute_ms + s->exposed_ms) * s->repeats;
    }
    return ms;
}

static double measured_ms(const ms_replay_result *result, int phase)
{
    double ms = 0;
    for (uint32_t i = result->first_steady_phase; i < result->phases.count; i++)
        if (result->phases.items[i].phase == phase)
            ms += result->phases.items[i].ms;
    return ms;
}

static void add_times(rows *r, const ms_probe_view *v)
{
    const ms_replay_result *m = v->result;
    const ms_step_time *time = &v->profile->time;
    if (!ms_probe_has_step_time(v) || !v->is_same_device || !ms_device_has_rates(v->run->device) ||
        !(time->step_ms > 0))
        return;
    for (int phase = 0; phase < MS_PHASE_COUNT; phase++) {
        double predicted = predicted_ms(v->profile, phase), measured = measured_ms(m, phase);
        if (phase_rows[phase].key && (predicted > 0 || measured > 0))
            add(r, (ms_probe_row){phase_rows[phase].key, phase_rows[phase].title, true, predicted,
                                  measured});
    }
    add(r, (ms_probe_row){"step_time_ms", "time of the step", true, time->step_ms, m->step_ms});
    add(r, (ms_probe_row){"exposed_copy_ms", "waiting for copies", true, time->exposed_ms,
                          m->times_ms[MS_REPLAY_WAITING]});
}

uint32_t ms_probe_rows(const ms_probe_view *view, ms_probe_row items[MS_PROBE_ROWS])
{
    rows r = {.items = items};
    if (view->status == MS_OK) {
        add_memory(&r, view);
        add_times(&r, view);
    }
    return r.count;
}

double ms_probe_difference(const ms_probe_row *row)
{
    if (row->predicted > 0)
        return (row->measured - row->predicted) / row->predicted;
    return row->measured > 0 ? INFINITY : 0;
}

const ms_probe_row *ms_probe_most(const ms_probe_row *items, uint32_t count)
{
    const ms_probe_row *most = NULL;
    for (uint32_t i = 0; i < count; i++) {
        double difference = fabs(ms_probe_difference(&items[i]));
        if (difference > 0 && (!most || difference > fabs(ms_probe_difference(most))))
            most = &items[i];
    }
    return most;
}

const char *ms_probe_trace_name(const ms_probe_view *view)
{
    const char *slash = view->trace_file ? strrchr(view->trace_file, '/') : NULL;
    return slash ? slash + 1 : view->trace_file;
}

const char *ms_probe_title(const ms_probe_view *view)
{
    if (view->model)
        return ms_model_title(view->model);
    return view->trace->run && *view->trace->run ? view->trace->run : ms_probe_trace_name(view);
}

const char *ms_probe_outcome(const ms_probe_view *view)
{
    if (view->status == MS_OK)
        return "stepped";
    if (view->status == MS_ERR_STOPPED)
        return "interrupted";
    return view->status == MS_ERR_OVER_BUDGET ? "out_of_memory" : "failed";
}
