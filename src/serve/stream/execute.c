/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "serve/stream/execute.h"

#include <inttypes.h>
#include <string.h>

#include "base/deadline.h"
#include "serve/stream/run_trace.h"

/* ---- feed ---- */

static ms_status no_memory(ms_error *err)
{
    return ms_fail(err, MS_ERR_NOMEM, "no memory for a stream");
}

/* ---- events ---- */

static ms_status open_event(ms_stream_feed *f, ms_backend_event **event, ms_error *err)
{
    if (!ms_vec_reserve(&f->events))
        return no_memory(err);
    ms_status status = f->backend->calls->open_event(f->backend, event, err);
    if (status == MS_OK)
        (void)ms_vec_push(&f->events, *event);
    return status;
}

static ms_status record(ms_stream_feed *f, ms_backend_event **event, ms_backend_stream *stream,
                        ms_error *err)
{
    ms_status status = open_event(f, event, err);
    return status == MS_OK ? f->backend->calls->record(f->backend, *event, stream, err) : status;
}

/* ---- pinned memory ---- */

/* On demand: a buffer is pinned when it is first needed. */
static ms_status find_buffer(ms_stream_feed *f, uint32_t work, ms_stream_buffer **buffer,
                             ms_error *err)
{
    const ms_backend_calls *calls = f->backend->calls;
    uint32_t at = work % f->buffer_count;
    if (at == f->buffers.count) {
        ms_stream_buffer made = {0};
        if (!ms_vec_reserve(&f->buffers))
            return no_memory(err);
        ms_status status = calls->pin(f->backend, f->pass->slot_bytes, true, &made.memory, err);
        if (status != MS_OK)
            return status;
        (void)ms_vec_push(&f->buffers, made);
        f->pinned_bytes += f->pass->slot_bytes;
    }
    *buffer = &f->buffers.items[at];
    return (*buffer)->copied ? calls->finish(f->backend, (*buffer)->copied, err) : MS_OK;
}

static uint32_t layer_of(const ms_stream_feed *f, uint64_t index)
{
    return (uint32_t)(index % f->pass->layers.count);
}

static ms_status give(void *context, uint32_t work, uint64_t address, const void **memory,
                      ms_error *err)
{
    ms_stream_feed *f = context;
    ms_stream_buffer *buffer = NULL;
    (void)address;
    ms_status status = find_buffer(f, work, &buffer, err);
    if (status != MS_OK)
        return status;
    double begin_ms = ms_now_ms();
    if (f->weights)
        status = ms_stream_weights_fill(f->weights, layer_of(f, work), buffer->memory, err);
    if (status != MS_OK)
        return status;
    f->fill_ms += ms_now_ms() - begin_ms;
    *memory = buffer->memory;
    return ms_vec_push(&f->fetches, (ms_stream_fetch){0}) ? MS_OK : no_memory(err);
}

static ms_status begin(void *context, uint32_t work, ms_backend_stream *copies, ms_error *err)
{
    ms_stream_feed *f = context;
    return record(f, &f->fetches.items[work].begin, copies, err);
}

/* Until then the buffer is not filled again. */
static ms_status end(void *context, uint32_t work, ms_backend_stream *copies, ms_error *err)
{
    ms_stream_feed *f = context;
    ms_status status = record(f, &f->fetches.items[work].end, copies, err);
    f->buffers.items[work % f->buffer_count].copied = f->fetches.items[work].end;
    return status;
}

/* ---- layers ---- */

static ms_status open_check(ms_stream_feed *f, ms_error *err)
{
    if (f->check)
        return MS_OK;
    ms_status status = open_event(f, &f->checked, err);
    return status == MS_OK
               ? f->backend->calls->pin(f->backend, f->pass->slot_bytes, true, &f->check, err)
               : status;
}

/* Where it computes, in the order of the stream that computes. */
static ms_status check(ms_stream_feed *f, ms_backend_stream *operators, const char *when,
                       ms_error *err)
{
    const ms_backend_calls *calls = f->backend->calls;
    uint64_t index = f->uses.count - 1;
    uint32_t layer = layer_of(f, index);
    ms_status status = open_check(f, err);
    if (status == MS_OK)
        status = calls->copy(f->backend, operators, MS_COPY_TO_HOST, (uintptr_t)f->check,
                             f->address, f->pass->layers.items[layer].block_bytes, err);
    if (status == MS_OK)
        status = calls->record(f->backend, f->checked, operators, err);
    if (status == MS_OK)
        status = calls->finish(f->backend, f->checked, err);
    if (status != MS_OK)
        return status;
    if (ms_stop_asked(f->stop))
        return ms_fail(err, MS_ERR_STOPPED, "the replay was stopped");
    bool matches = false;
    f->checks++;
    status = ms_stream_weights_match(f->weights, layer, f->check, &matches, err);
    if (status != MS_OK || matches)
        return status;
    return ms_fail(err, MS_ERR_IO,
                   "layer %" PRIu32 " of pass %" PRIu64
                   " %s with bytes on the device that differ from the host's",
                   layer, index / f->pass->layers.count + 1, when);
}

static bool is_checked(const ms_stream_feed *f)
{
    return f->uses.count > f->first_checked;
}

static ms_status end_use(ms_stream_feed *f, ms_backend_stream *operators, ms_error *err)
{
    if (!f->is_in_use)
        return MS_OK;
    f->is_in_use = false;
    ms_status status = record(f, &f->uses.items[f->uses.count - 1].end, operators, err);
    return status == MS_OK && is_checked(f) ? check(f, operators, "ends", err) : status;
}

static ms_status layer(void *context, uint32_t number, ms_backend_stream *operators, ms_error *err)
{
    ms_stream_feed *f = context;
    ms_status status = end_use(f, operators, err);
    if (status != MS_OK || number == MS_NONE)
        return status;
    if (!ms_vec_push(&f->uses, (ms_stream_use){0}))
        return no_memory(err);
    return record(f, &f->uses.items[f->uses.count - 1].ready, operators, err);
}

static ms_status took(void *context, uint32_t work, uint64_t address, ms_backend_stream *operators,
                      ms_error *err)
{
    ms_stream_feed *f = context;
    (void)work;
    f->is_in_use = true;
    f->address = address;
    ms_status status = record(f, &f->uses.items[f->uses.count - 1].begin, operators, err);
    return status == MS_OK && is_checked(f) ? check(f, operators, "begins", err) : status;
}

/* ---- all of it ---- */

ms_replay_feed ms_stream_feed_calls(ms_stream_feed *feed)
{
    return (ms_replay_feed){feed, give, begin, end, took, layer};
}

void ms_stream_feed_close(ms_stream_feed *f)
{
    const ms_backend_calls *calls = f->backend->calls;
    ms_error ignored = {0};
    (void)calls->synchronize(f->backend, NULL, &ignored);
    for (uint32_t i = 0; i < f->events.count; i++)
        calls->close_event(f->backend, f->events.items[i]);
    for (uint32_t i = 0; i < f->buffers.count; i++)
        calls->unpin(f->backend, f->buffers.items[i].memory, f->pass->slot_bytes, true);
    if (f->check)
        calls->unpin(f->backend, f->check, f->pass->slot_bytes, true);
    f->check = NULL;
    ms_vec_free(&f->events);
    ms_vec_free(&f->buffers);
    ms_vec_free(&f->fetches);
    ms_vec_free(&f->uses);
}

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
