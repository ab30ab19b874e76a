/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "api/probe.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/backend.h"
#include "base/error.h"
#include "base/json/place.h"
#include "core/device/device.h"
#include "hardware/replay/host_copies.h"
#include "hardware/replay/replay.h"
#include "input/config/resolve/device_named.h"
#include "input/config/run/show_parallel.h"
#include "model/load.h"
#include "report/runtime/links_view.h"
#include "report/runtime/probe_view.h"
#include "report/writers.h"
#include "run/measure/schedule.h"

/* ---- probe ---- */

ms_probe *ms_probe_create(void)
{
    ms_probe *p = calloc(1, sizeof *p);
    if (!p)
        return NULL;
    p->style = (ms_style){.columns = 80};
    p->arena = ms_arena_create(0);
    if (p->arena)
        return p;
    free(p);
    return NULL;
}

/* Drops what the two before left. */
static void probe_drop_step(ms_probe *p)
{
    ms_replay_free(&p->result);
    ms_profile_free(&p->profile);
    if (p->has_predicted)
        ms_usage_free(&p->predicted);
    if (p->is_simulated)
        ms_simulated_free(&p->simulated);
    p->has_result = p->has_predicted = p->is_simulated = false;
}

void ms_probe_free(ms_probe *p)
{
    if (!p)
        return;
    probe_drop_step(p);
    ms_replay_links_free(&p->links);
    if (p->trace_file)
        ms_trace_free(&p->trace.trace);
    ms_vec_free(&p->rows);
    ms_arena_free(p->arena);
    free(p);
}

void ms_probe_stop(ms_probe *p)
{
    if (p)
        atomic_store_explicit(&p->stop, 1, memory_order_relaxed);
}

/* ---- backends ---- */

const char *ms_probe_backend_at(size_t index)
{
    return ms_api_backend_at(index);
}

static ms_status probe_begin(ms_probe *p, ms_error *err)
{
    if (p->is_used)
        return ms_fail(err, MS_ERR_USAGE, "a probe measures once: make another");
    p->is_used = true;
    return MS_OK;
}

/* Fills the probe's facts, too. The caller closes the backend. */
static ms_status probe_open_backend(ms_probe *p, const ms_probe_options *options,
                                    ms_backend **backend, ms_error *err)
{
    const ms_backend_choice choice = {.name = options->backend,
                                      .device_index = options->device_index,
                                      .capacity = options->capacity,
                                      .skips_data = options->memory_only || p->is_memory_only,
                                      .stop = &p->stop};
    ms_status status = ms_api_backend_open(&choice, backend, &p->backend, err);
    if (status == MS_OK)
        p->facts = (*backend)->facts;
    return status;
}

static /* ---- a step ---- */

    ms_status
    probe_compare_devices(ms_probe *p, ms_error *err)
{
    return ms_api_backend_compare(p->run.device, &p->facts, &p->notes, p->arena, &p->is_same_device,
                                  err);
}

static const ms_trace *trace_of(const ms_probe *p)
{
    return p->trace_file ? &p->trace.trace : &p->simulated.simulation.trace;
}

/* A trace is there already. */
static ms_status simulate(ms_probe *p, ms_error *err)
{
    const ms_job job = {.model = &p->model, .run = &p->run};
    if (p->trace_file)
        return ms_profile_build(&p->trace.trace, p->run.device, p->run.allocator.kind, &p->profile,
                                err);
    ms_status status = ms_simulate(&job, MS_SIMULATE_ALL, &p->simulated, err);
    p->is_simulated = status == MS_OK;
    return status;
}

/* Simulates the run, and what the memory of the backend, if there is one, makes of it; fills the
 * options' allocator. */
static ms_status probe_predict(ms_probe *p, ms_replay_options *options, ms_error *err)
{
    ms_status status = simulate(p, err);
    if (status != MS_OK)
        return status;
    options->allocator = p->run.allocator;
    uint64_t own = p->is_memory_only ? 0 : ms_replay_own_bytes(trace_of(p));
    if (p->backend)
        options->allocator = ms_replay_allocator(&p->run.allocator, &p->facts, own);
    status = ms_usage_measure(trace_of(p), &options->allocator, &p->predicted, err);
    p->has_predicted = status == MS_OK;
    return status;
}

/* Keeps the sentence that the caller gets for the report; returns the status. */
static ms_status probe_keep(ms_probe *p, ms_status status, const ms_error *err)
{
    p->status = status;
    memcpy(p->message, err->text, sizeof p->message);
    return status;
}

static ms_status run_step(ms_probe *p, ms_backend *backend, ms_error *err)
{
    ms_replay_options options = {.is_memory_only = p->is_memory_only, .stop = &p->stop};
    ms_status status = probe_compare_devices(p, err);
    if (status == MS_OK)
        status = probe_predict(p, &options, err);
    if (status == MS_OK && p->predicted.out_of_memory)
        status =
            ms_note_add(&p->notes, p->arena, err,
                        "it is predicted not to fit into the memory that this device has left");
    if (status != MS_OK)
        return status;
    status = ms_replay_run(backend, trace_of(p), &options, &p->result, err);
    p->has_result = true;
    return probe_keep(p, status, err);
}

static ms_status probe_load(ms_probe *p, const ms_run *run, ms_error *err)
{
    ms_arena_set_inputs(p->arena, run->inputs);
    ms_status status = ms_run_load(p->arena, run->settings.items, run->settings.count, &p->model,
                                   &p->run, &p->notes, err);
    return status == MS_OK ? ms_parallel_refuse(&p->run.parallel, "a probe", err) : status;
}

/* Of the run it takes the device. A trace without operators has memory only. */
static ms_status load_trace(ms_probe *p, const ms_run *run, const char *path, ms_error *err)
{
    ms_arena_set_inputs(p->arena, run->inputs);
    ms_status status = ms_config_load_device(p->arena, run->settings.items, run->settings.count,
                                             "a trace", &p->run, &p->notes, err);
    if (status == MS_OK)
        status = ms_trace_read_file(run->inputs, path, &p->trace, err);
    if (status != MS_OK)
        return status;
    p->trace_file = strcmp(path, "-") == 0 ? "<stdin>" : ms_arena_strdup(p->arena, path);
    if (!p->trace_file) {
        ms_trace_free(&p->trace.trace);
        return ms_fail(err, MS_ERR_NOMEM, "no memory for a trace");
    }
    status = ms_replay_check(&p->trace.trace, err);
    if (status != MS_OK)
        ms_json_place_file(p->trace_file, err);
    if (status != MS_OK || p->is_memory_only || p->trace.trace.ops.count > 0)
        return status;
    p->is_memory_only = true;
    return ms_note_add(&p->notes, p->arena, err,
                       "the trace has no operators: allocations and releases only");
}

ms_status ms_probe_step(ms_probe *p, const ms_run *run, const ms_probe_options *options,
                        ms_error *err)
{
    ms_backend *backend = NULL;
    if (!p || !run || !options || !options->backend || !err)
        return ms_fail_null(err);
    ms_status status = probe_begin(p, err);
    p->is_memory_only = options->memory_only;
    if (status == MS_OK)
        status = options->trace ? load_trace(p, run, options->trace, err) : probe_load(p, run, err);
    if (status == MS_OK)
        status = probe_open_backend(p, options, &backend, err);
    if (status != MS_OK)
        return status;
    status = run_step(p, backend, err);
    backend->calls->close(backend);
    return status;
}

/* ---- links ---- */

/* The name of the device in the table, which a run has without a model. */
static const char *device_name(const ms_run *run)
{
    const char *name = NULL;
    for (uint32_t i = 0; i < run->settings.count; i++)
        if (strcmp(run->settings.items[i].field, "device") == 0)
            name = run->settings.items[i].value;
    return name;
}

static ms_status find_device(ms_probe *p, const char *name, ms_error *err)
{
    char hint[MS_DEVICE_HINT_BYTES];
    const ms_device *devices = NULL, *found = NULL;
    uint32_t count = 0;
    ms_status status = ms_devices_load(p->arena, &devices, &count, err);
    if (status != MS_OK)
        return status;
    if (name)
        found = ms_device_named(devices, count, name, hint);
    for (uint32_t i = 0; !name && !p->facts.is_host && i < count && !found; i++)
        if (ms_device_is_titled(&devices[i], p->facts.title))
            found = &devices[i];
    if (found)
        p->run.device = found;
    return found || !name ? MS_OK
                          : ms_fail(err, MS_ERR_CONFIG, "unknown device '%.40s'%s", name, hint);
}

/* The figures are meant for a device of the table, and come from this one. */
static ms_status note_device(ms_probe *p, ms_error *err)
{
    const ms_device *device = p->run.device;
    if (!device || (!p->facts.is_host && ms_device_is_titled(device, p->facts.title)))
        return MS_OK;
    if (p->facts.is_host)
        return ms_note_add(
            &p->notes, p->arena, err,
            "it was measured with this machine's memory and threads, but is meant for %s",
            device->name);
    return ms_note_add(
        &p->notes, p->arena, err,
        "the figures are meant for %s, but were measured on %s: memscope calibrate refuses them",
        device->name, p->facts.title);
}

static ms_status measure_links(ms_probe *p, const char *name, ms_backend *backend, ms_error *err)
{
    const ms_links_options options = {.stop = &p->stop};
    ms_status status = find_device(p, name, err);
    if (status == MS_OK)
        status = note_device(p, err);
    if (status != MS_OK)
        return status;
    status = ms_replay_links_measure(backend, &options, &p->links, err);
    p->has_links = true;
    return probe_keep(p, status, err);
}

ms_status ms_probe_links(ms_probe *p, const ms_run *run, const ms_probe_options *options,
                         ms_error *err)
{
    ms_backend *backend = NULL;
    if (!p || !run || !options || !options->backend || !err)
        return ms_fail_null(err);
    ms_status status = probe_begin(p, err);
    if (status == MS_OK)
        status = probe_open_backend(p, options, &backend, err);
    if (status != MS_OK)
        return status;
    status = measure_links(p, device_name(run), backend, err);
    backend->calls->close(backend);
    return status;
}

/* ---- results ---- */

bool ms_probe_has_figures(const ms_probe *p)
{
    return p && (p->has_result || p->has_links || p->rows.count);
}

const char *ms_probe_note(const ms_probe *p, size_t index)
{
    return p ? ms_note_at(&p->notes, index) : NULL;
}

void ms_probe_set_style(ms_probe *p, const ms_style *style)
{
    if (p && style)
        p->style = *style;
}

const char *ms_probe_format_at(size_t index)
{
    return ms_writer_name_at(MS_DOCUMENT_PROBE, index);
}

const char *ms_probe_offload_format_at(size_t index)
{
    return ms_writer_name_at(MS_DOCUMENT_OFFLOAD, index);
}

const char *ms_probe_offload_tag_at(size_t index)
{
    return ms_offload_tag_at(index);
}

static ms_status write_links(const ms_probe *p, const char *format, FILE *out, ms_error *err)
{
    const ms_links_view view = {.links = &p->links,
                                .facts = &p->facts,
                                .backend = p->backend,
                                .device = p->run.device ? p->run.device->name : NULL,
                                .status = p->status,
                                .message = p->message,
                                .style = &p->style};
    const ms_writer *writer = ms_writer_find(MS_DOCUMENT_LINKS, format, err);
    return writer ? ms_writer_write(writer, &view, p->arena, out, err) : MS_ERR_USAGE;
}

static ms_status write_offload(const ms_probe *p, const char *format, FILE *out, ms_error *err)
{
    const ms_offload_view view = {.model = &p->model,
                                  .run = &p->run,
                                  .tags = &p->tags,
                                  .rows = &p->rows,
                                  .is_swept = p->is_swept,
                                  .facts = &p->facts,
                                  .backend = p->backend,
                                  .is_memory_only = p->is_memory_only,
                                  .is_same_device = p->is_same_device,
                                  .status = p->status,
                                  .message = p->message,
                                  .style = &p->style};
    const ms_writer *writer = ms_writer_find(MS_DOCUMENT_OFFLOAD, format, err);
    return writer ? ms_writer_write(writer, &view, p->arena, out, err) : MS_ERR_USAGE;
}

ms_status ms_probe_write(const ms_probe *p, const char *format, FILE *out, ms_error *err)
{
    if (!ms_probe_has_figures(p) || !format || !out)
        return ms_fail_null(err);
    if (p->has_links)
        return write_links(p, format, out, err);
    if (p->rows.count)
        return write_offload(p, format, out, err);
    bool is_trace = p->trace_file != NULL;
    const ms_probe_view view = {.model = is_trace ? NULL : &p->model,
                                .simulation = is_trace ? NULL : &p->simulated.simulation,
                                .trace_file = p->trace_file,
                                .trace = &p->trace.facts,
                                .run = &p->run,
                                .profile = is_trace ? &p->profile : &p->simulated.profile,
                                .predicted = &p->predicted,
                                .result = &p->result,
                                .facts = &p->facts,
                                .backend = p->backend,
                                .status = p->status,
                                .message = p->message,
                                .is_memory_only = p->is_memory_only,
                                .is_same_device = p->is_same_device,
                                .style = &p->style};
    const ms_writer *writer = ms_writer_find(MS_DOCUMENT_PROBE, format, err);
    return writer ? ms_writer_write(writer, &view, p->arena, out, err) : MS_ERR_USAGE;
}

/* ---- probe offload ---- */

/* Offload by ratio and tag: a step for each ratio, simulated, and replayed where there is a
 * device. */

typedef struct sweep {
    ms_probe *probe;
    ms_backend *backend; /* NULL: none */
    ms_offload_tag tags[MS_MOST_OFFLOAD_TAGS];
    uint32_t tag_count;
    double ratios[MS_MOST_OFFLOAD_RATIOS];
    uint32_t ratio_count;
    uint32_t full_count; /* of rows for which the device had no room */
} sweep;

/* ---- what is asked for ---- */

static bool takes_ratio(const sweep *s)
{
    for (uint32_t i = 0; i < s->tag_count; i++)
        if (!s->tags[i].has_ratio)
            return true;
    return false;
}

static ms_status read_tags(sweep *s, const ms_probe_options *o, ms_error *err)
{
    ms_status status = MS_OK;
    if (o->offload_tag_count >= MS_MOST_OFFLOAD_TAGS)
        return ms_fail(err, MS_ERR_USAGE, "--offload-tag is given more than %d times",
                       MS_MOST_OFFLOAD_TAGS - 1);
    for (size_t i = 0; i < o->offload_tag_count && status == MS_OK; i++)
        status = ms_offload_tag_read(o->offload_tags[i], s->probe->arena,
                                     s->probe->model.num_layers, &s->tags[s->tag_count++], err);
    return status;
}

/* A ratio that no tag takes counts for all that no tag fits. */
static ms_status read_settings(sweep *s, const ms_probe_options *o, ms_error *err)
{
    ms_status status = read_tags(s, o, err);
    if (status != MS_OK)
        return status;
    s->probe->is_swept = o->offload_ratio != NULL;
    s->ratio_count = 1;
    if (!o->offload_ratio && (s->tag_count == 0 || takes_ratio(s)))
        return ms_fail(
            err, MS_ERR_USAGE,
            "%s has no ratio: give --offload-ratio, or write it after the tag, as in mlp=0.5",
            s->tag_count ? "a tag of --offload-tag" : "the offload");
    if (!o->offload_ratio)
        return MS_OK;
    if (!takes_ratio(s)) {
        memmove(&s->tags[1], &s->tags[0], s->tag_count * sizeof s->tags[0]);
        s->tags[0] = (ms_offload_tag){.name = "all", .part = MS_OFFLOAD_ALL};
        s->tag_count++;
    }
    return ms_offload_ratios_read(o->offload_ratio, s->ratios, &s->ratio_count, err);
}

static ms_status check_run(const ms_probe *p, ms_error *err)
{
    if (p->run.device->is_cpu)
        return ms_fail(err, MS_ERR_CONFIG,
                       "saved tensors cannot go to the host, because the device is the cpu");
    for (uint64_t i = 0; i < p->model.num_layers; i++)
        if (p->run.treatments.layers[i].kind == MS_TREAT_OFFLOAD)
            return ms_fail(err, MS_ERR_CONFIG,
                           "layer %u is already offloaded by its treatment: --offload-ratio and "
                           "--offload-tag need layers that are kept",
                           (unsigned)i);
    return MS_OK;
}

/* ---- a ratio ---- */

static ms_status predict(sweep *s, ms_offload_row *row, ms_replay_options *options, ms_error *err)
{
    ms_probe *p = s->probe;
    ms_offload_figures *f = &row->predicted;
    ms_status status = probe_predict(p, options, err);
    if (status != MS_OK)
        return status;
    const ms_trace *trace = &p->simulated.simulation.trace;
    memcpy(row->bytes, p->simulated.simulation.offloaded, sizeof row->bytes);
    row->device_bytes = p->simulated.judgement.device_bytes.expected;
    row->reason = p->simulated.judgement.reason;
    f->peak_bytes = p->predicted.peak_bytes;
    f->reserved_bytes = p->predicted.most_reserved_bytes;
    f->has_times = ms_device_has_rates(p->run.device) && !p->run.device->has_assumed_rates;
    f->step_ms = p->simulated.profile.time.step_ms;
    f->exposed_ms = p->simulated.profile.time.exposed_ms;
    f->copy_ms = p->simulated.profile.time.copy_ms;
    status = ms_link_use_measure(trace, &p->simulated.usage, p->run.device, &f->link_busy_ms, err);
    return status == MS_OK ? ms_host_copies_count(trace, &f->host_bytes, err) : status;
}

static ms_status replay(sweep *s, ms_offload_row *row, ms_replay_options *options, ms_error *err)
{
    ms_probe *p = s->probe;
    const ms_replay_result *r = &p->result;
    options->is_memory_only = p->is_memory_only;
    options->keeps_host_copies = true;
    options->stop = &p->stop;
    ms_status status =
        ms_replay_run(s->backend, &p->simulated.simulation.trace, options, &p->result, err);
    row->has_measured = status == MS_OK;
    row->measured = (ms_offload_figures){.peak_bytes = r->peak_bytes,
                                         .reserved_bytes = r->most_reserved_bytes,
                                         .host_bytes = r->host_copy_bytes,
                                         .has_times = r->has_times,
                                         .step_ms = r->step_ms,
                                         .exposed_ms = r->times_ms[MS_REPLAY_WAITING],
                                         .copy_ms = r->copy_ms,
                                         .link_busy_ms = r->link_busy_ms};
    if (status != MS_ERR_OVER_BUDGET)
        return status;
    row->is_full = true;
    s->full_count++;
    *err = (ms_error){.status = MS_OK};
    return MS_OK;
}

static ms_status run_row(sweep *s, double ratio, ms_offload_row *row, ms_error *err)
{
    ms_probe *p = s->probe;
    ms_replay_options options = {.is_memory_only = p->is_memory_only};
    *row = (ms_offload_row){.ratio = ratio};
    for (uint32_t i = 0; i < s->tag_count; i++)
        if (!s->tags[i].has_ratio)
            s->tags[i].ratio = ratio;
    if (ms_stop_asked(&p->stop))
        return ms_fail(err, MS_ERR_STOPPED, "the probe was stopped");
    ms_status status = predict(s, row, &options, err);
    if (status == MS_OK && s->backend)
        status = replay(s, row, &options, err);
    probe_drop_step(p);
    return status;
}

/* Which tags have no tensors is known once the first row is there. */
static ms_status check_tags(const sweep *s, const ms_offload_row *row, ms_error *err)
{
    uint64_t total = 0;
    for (uint32_t i = 0; i < s->tag_count; i++)
        total += row->bytes[i].total_bytes;
    if (total == 0)
        return ms_fail(err, MS_ERR_CONFIG,
                       "no tensor that the layers save on the device has one of the tags, so there "
                       "is nothing to offload");
    for (uint32_t i = 0; i < s->tag_count; i++) {
        ms_status status = MS_OK;
        if (row->bytes[i].total_bytes == 0)
            status = ms_note_add(&s->probe->notes, s->probe->arena, err,
                                 "no saved tensor has the tag %s", s->tags[i].name);
        if (status != MS_OK)
            return status;
    }
    return MS_OK;
}

static ms_status run_rows(sweep *s, ms_error *err)
{
    ms_probe *p = s->probe;
    ms_status status = MS_OK;
    for (uint32_t i = 0; i < s->ratio_count && status == MS_OK; i++) {
        ms_offload_row row;
        status = run_row(s, s->ratios[i], &row, err);
        if (status == MS_OK && i == 0)
            status = check_tags(s, &row, err);
        if (status == MS_OK && !ms_vec_push(&p->rows, row))
            status = ms_fail(err, MS_ERR_NOMEM, "no memory for the rows of a probe");
    }
    if (status == MS_OK && s->full_count == p->rows.count && s->full_count > 0)
        status = ms_fail(err, MS_ERR_OVER_BUDGET, "the device is full at every ratio");
    return probe_keep(p, status, err);
}

static ms_status run_sweep(sweep *s, const ms_probe_options *options, ms_error *err)
{
    ms_probe *p = s->probe;
    ms_status status = MS_OK;
    p->tags = p->run.offload_tags = (ms_offload_tags){s->tags, s->tag_count};
    if (options->backend)
        status = probe_open_backend(p, options, &s->backend, err);
    if (status == MS_OK && s->backend)
        status = probe_compare_devices(p, err);
    if (status == MS_OK)
        status = run_rows(s, err);
    if (s->backend)
        s->backend->calls->close(s->backend);
    return status;
}

ms_status ms_probe_offload(ms_probe *p, const ms_run *run, const ms_probe_options *options,
                           ms_error *err)
{
    if (!p || !run || !options || !err)
        return ms_fail_null(err);
    ms_status status = probe_begin(p, err);
    p->is_memory_only = options->memory_only;
    if (status == MS_OK)
        status = probe_load(p, run, err);
    sweep *s = ms_arena_array(p->arena, sweep, 1); /* the report reads its tags */
    if (status == MS_OK && !s)
        status = ms_fail(err, MS_ERR_NOMEM, "no memory for a probe");
    if (status != MS_OK)
        return status;
    s->probe = p;
    status = read_settings(s, options, err);
    if (status == MS_OK)
        status = check_run(p, err);
    return status == MS_OK ? run_sweep(s, options, err) : status;
}
