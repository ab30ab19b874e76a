/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "serve/stream/execute.h"

#include <string.h>

#include "serve/stream/run_trace.h"

/* ---- sources of weights ---- */

static ms_status open_memory(void *context, const ms_trace *trace, const ms_stream_pass *pass,
                             ms_stream_weights *weights, ms_error *err)
{
    (void)context, (void)trace;
    return ms_stream_weights_make(pass, weights, err);
}

ms_stream_source ms_stream_source_memory(void)
{
    return (ms_stream_source){NULL, open_memory};
}

static ms_status open_files(void *context, const ms_trace *trace, const ms_stream_pass *pass,
                            ms_stream_weights *weights, ms_error *err)
{
    const ms_stream_files *files = context;
    return ms_stream_weights_open(files->arena, files->path, trace, pass, weights, err);
}

ms_stream_source ms_stream_source_files(ms_stream_files *files)
{
    return (ms_stream_source){files, open_files};
}

/* ---- what was measured ---- */

typedef struct reading {
    const ms_stream_feed *feed;
    ms_backend *backend;
    ms_stream_measured *to;
    uint32_t timed_passes;
    double waited_ms, used_ms; /* in all steady passes */
} reading;

static ms_status add_elapsed(const reading *r, ms_backend_event *begin, ms_backend_event *end,
                             double *ms, ms_error *err)
{
    double more = 0;
    ms_status status = r->backend->calls->elapsed(r->backend, begin, end, &more, err);
    *ms += more;
    return status;
}

/* Of the first pass only what it took is known. */
static bool is_steady(const reading *r, uint64_t index)
{
    uint32_t layers = r->to->measured.layers.count;
    return index >= layers && index < (uint64_t)layers * r->timed_passes;
}

static ms_status read_uses(reading *r, ms_error *err)
{
    ms_status status = MS_OK;
    uint32_t layers = r->to->measured.layers.count;
    for (uint32_t i = 0; i < r->feed->uses.count && status == MS_OK; i++) {
        const ms_stream_use *use = &r->feed->uses.items[i];
        double ms = 0;
        if (!is_steady(r, i))
            continue;
        status = add_elapsed(r, use->ready, use->begin, &r->waited_ms, err);
        if (status == MS_OK)
            status = add_elapsed(r, use->begin, use->end, &ms, err);
        r->to->measured.layers.items[i % layers].compute_ms += ms / (r->timed_passes - 1);
        r->used_ms += ms;
    }
    return status;
}

/* Copies of all timed passes count, as the link knows no passes. */
static ms_status read_copies(reading *r, ms_error *err)
{
    ms_status status = MS_OK;
    double ms = 0, bytes = 0;
    const ms_stream_pass *pass = &r->to->measured;
    for (uint32_t i = 0; i < r->feed->fetches.count && status == MS_OK; i++) {
        const ms_stream_fetch *fetch = &r->feed->fetches.items[i];
        if (i >= (uint64_t)pass->layers.count * r->timed_passes)
            break;
        status = add_elapsed(r, fetch->begin, fetch->end, &ms, err);
        bytes += (double)pass->layers.items[i % pass->layers.count].block_bytes;
    }
    r->to->measured.link_bytes_per_s = ms > 0 ? bytes / ms * 1e3 : 0;
    return status;
}

static void read_passes(reading *r)
{
    ms_stream_measured *to = r->to;
    const ms_replay_phase *phases = &to->result.phases.items[to->result.first_steady_phase];
    uint32_t steady = r->timed_passes - 1;
    double all_ms = 0;
    for (uint32_t i = 1; i <= steady; i++)
        all_ms += phases[i].ms;
    to->times.first_ms = phases[0].ms;
    to->times.pass_ms = all_ms / steady;
    to->times.exposed_ms = r->waited_ms / steady;
    to->times.compute_ms = to->times.pass_ms - to->times.exposed_ms;
    double outside_ms = (all_ms - r->used_ms - r->waited_ms) / steady;
    to->measured.after_ms = outside_ms > 0 ? outside_ms : 0;
}

static ms_status read_times(reading *r, ms_error *err)
{
    ms_stream_measured *to = r->to;
    ms_status status = read_uses(r, err);
    if (status == MS_OK)
        status = read_copies(r, err);
    if (status != MS_OK)
        return status;
    read_passes(r);
    to->is_timed = to->result.has_times;
    status = ms_stream_clock_play(&to->measured, to->places - 1, &to->scheduled, err);
    double hidden_ms = to->scheduled.copy_ms - to->times.exposed_ms;
    to->times.copy_ms = to->scheduled.copy_ms;
    to->times.hidden_ms = hidden_ms > 0 ? hidden_ms : 0;
    return status;
}

/* ---- the passes ---- */

typedef struct execution {
    const ms_stream_execution *asked;
    ms_backend *backend;
    ms_simulation simulation;
    ms_place_trace placed;
    ms_run_trace run;
    ms_stream_weights weights;
    ms_stream_feed feed;
    ms_stream_measured *measured;
    bool has_simulation, has_placed, has_run;
} execution;

static ms_status make_traces(execution *e, ms_error *err)
{
    const ms_stream_execution *asked = e->asked;
    ms_stream_measured *m = e->measured;
    const ms_inference inference = {.phase = asked->phase, .passes = m->passes};
    ms_status status = ms_step_infer(asked->model, asked->run, &inference, &e->simulation, err);
    e->has_simulation = status == MS_OK;
    if (status == MS_OK)
        status = ms_stream_pass_read(&e->simulation.trace, asked->run->device, &m->measured, err);
    if (status != MS_OK)
        return status;
    uint64_t most = m->measured.layers.count;
    m->places = (uint32_t)(asked->prefetch < most ? asked->prefetch + 1 : most);
    status =
        ms_stream_place_trace_make(&e->simulation.trace, &m->measured, m->places, &e->placed, err);
    e->has_placed = status == MS_OK;
    if (status == MS_OK)
        status = ms_stream_run_trace_make(&e->placed, &m->measured, m->passes, &e->run, err);
    e->has_run = status == MS_OK;
    return status;
}

static ms_status predict(execution *e, const ms_allocator_options *options, ms_error *err)
{
    ms_status status = ms_usage_measure(&e->run.trace, options, &e->measured->predicted, err);
    e->measured->has_predicted = status == MS_OK;
    return status;
}

/* Times of the simulation give way to measured ones. */
static void forget_times(ms_stream_pass *pass)
{
    pass->after_ms = pass->link_bytes_per_s = 0;
    for (uint32_t i = 0; i < pass->layers.count; i++)
        pass->layers.items[i].before_ms = pass->layers.items[i].compute_ms = 0;
}

static ms_status run_passes(execution *e, ms_error *err)
{
    ms_stream_measured *m = e->measured;
    uint32_t layers = m->measured.layers.count;
    bool checks = e->asked->checked_passes > 0 && !e->backend->facts.is_simulated;
    e->feed = (ms_stream_feed){.backend = e->backend,
                               .pass = &m->measured,
                               .weights = e->backend->facts.is_simulated ? NULL : &e->weights,
                               .buffer_count = ms_stream_buffers(&m->measured, m->places),
                               .stop = e->asked->stop,
                               .first_checked =
                                   checks ? (uint64_t)e->asked->timed_passes * layers : UINT64_MAX};
    const ms_replay_feed calls = ms_stream_feed_calls(&e->feed);
    const ms_replay_options options = {
        .allocator = ms_replay_allocator(&e->asked->run->allocator, &e->backend->facts,
                                         ms_replay_own_bytes(&e->run.trace)),
        .stop = e->asked->stop,
        .feed = &calls};
    reading r = {
        .feed = &e->feed, .backend = e->backend, .to = m, .timed_passes = e->asked->timed_passes};
    ms_status status = predict(e, &options.allocator, err);
    forget_times(&m->measured);
    if (status == MS_OK)
        status = ms_replay_run(e->backend, &e->run.trace, &options, &m->result, err);
    if (status == MS_OK && e->asked->timed_passes > 1)
        status = read_times(&r, err);
    m->pinned_bytes = e->feed.pinned_bytes;
    m->checks = e->feed.checks;
    m->fill_ms = e->feed.fill_ms / m->passes;
    ms_stream_feed_close(&e->feed);
    return status;
}

static void close_all(execution *e)
{
    ms_stream_weights_free(&e->weights);
    if (e->has_run)
        ms_stream_run_trace_free(&e->run);
    if (e->has_placed)
        ms_stream_place_trace_free(&e->placed);
    if (e->has_simulation)
        ms_simulation_free(&e->simulation);
}

ms_status ms_stream_execute(const ms_stream_execution *asked, const ms_stream_source *source,
                            ms_backend *backend, ms_stream_measured *measured, ms_error *err)
{
    execution e = {.asked = asked, .backend = backend, .measured = measured};
    *measured = (ms_stream_measured){.passes = asked->timed_passes + asked->checked_passes};
    ms_status status = make_traces(&e, err);
    if (status == MS_OK && !backend->facts.is_simulated)
        status = source->open(source->context, &e.simulation.trace, &measured->measured, &e.weights,
                              err);
    if (status == MS_OK)
        status = run_passes(&e, err);
    close_all(&e);
    return status;
}

void ms_stream_measured_free(ms_stream_measured *m)
{
    if (m->has_predicted)
        ms_usage_free(&m->predicted);
    ms_replay_free(&m->result);
    ms_stream_pass_free(&m->measured);
}
