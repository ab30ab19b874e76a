/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Offload by ratio and tag: a step for each ratio, simulated, and replayed where there is a device.
 */
#include <stdio.h>
#include <string.h>

#include "api/probe.h"
#include "run/measure/link_use.h"
#include "hardware/replay/host_copies.h"

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
        return ms_fail(err, MS_ERR_USAGE,
                       "%s has no ratio: give --offload-ratio, or write it behind the tag as in "
                       "mlp=0.5",
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
                       "saved tensors cannot go to the host: the device is the cpu");
    for (uint64_t i = 0; i < p->model.num_layers; i++)
        if (p->run.treatments.layers[i].kind == MS_TREAT_OFFLOAD)
            return ms_fail(err, MS_ERR_CONFIG,
                           "layer %u is treated with offload already: --offload-ratio and "
                           "--offload-tag are for layers that are kept",
                           (unsigned)i);
    return MS_OK;
}

/* ---- a ratio ---- */

static ms_status predict(sweep *s, ms_offload_row *row, ms_replay_options *options, ms_error *err)
{
    ms_probe *p = s->probe;
    ms_offload_figures *f = &row->predicted;
    ms_status status = ms_probe_predict(p, options, err);
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
    ms_probe_drop_step(p);
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
                       "the layers save nothing on the device that has one of the tags, so there "
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
    return ms_probe_keep(p, status, err);
}

static ms_status run_sweep(sweep *s, const ms_probe_options *options, ms_error *err)
{
    ms_probe *p = s->probe;
    ms_status status = MS_OK;
    p->tags = p->run.offload_tags = (ms_offload_tags){s->tags, s->tag_count};
    if (options->backend)
        status = ms_probe_open_backend(p, options, &s->backend, err);
    if (status == MS_OK && s->backend)
        status = ms_probe_compare_devices(p, err);
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
    ms_status status = ms_probe_begin(p, err);
    p->is_memory_only = options->memory_only;
    if (status == MS_OK)
        status = ms_probe_load(p, run, err);
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
