/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "run/measure/profile.h"

#include "run/measure/playback.h"

typedef struct walker {
    const ms_trace *trace;
    ms_profile *profile;
    ms_playback time;
    ms_turn_writer turns;
    uint32_t event; /* that is played */
    uint64_t block_bytes, live_bytes;
    uint16_t last_step;
    bool is_open; /* the last step runs: stretches are cut */
    ms_mark mark; /* the phase that runs */
    uint32_t layer;
    bool is_releasing; /* a copy to the host was waited for: what it copied goes now */
    bool is_leaving;   /* a layer ended in forward; until something is made, frees are its own */
    uint32_t next_storage, phase_storage, layers_storage; /* the first of what is made from now on,
                                                              since the phase, the layers began */
    ms_vec(uint32_t) late; /* storages that forward freed since the last layer that ran */
    bool no_memory;
} walker;

static ms_profile_span *open_stretch(walker *w)
{
    return &w->profile->spans.items[w->profile->spans.count - 1];
}

static void end_stretch(walker *w)
{
    if (w->profile->spans.count)
        open_stretch(w)->end_bytes = w->live_bytes;
}

static void begin_stretch(walker *w)
{
    end_stretch(w);
    ms_profile_span stretch = {.layer = w->layer,
                               .phase = w->mark.phase,
                               .micro_step = w->mark.micro_step,
                               .repeats = w->mark.repeats,
                               .first_event = w->event,
                               .begin_bytes = w->live_bytes,
                               .peak_bytes = w->live_bytes};
    if (!ms_vec_push(&w->profile->spans, stretch))
        w->no_memory = true;
}

/* The forward stretch of a layer in the micro-step that runs. */
static ms_profile_span *forward_of(walker *w, uint32_t layer)
{
    for (uint32_t i = w->profile->spans.count; i-- > 0;) {
        ms_profile_span *stretch = &w->profile->spans.items[i];
        if (stretch->micro_step != w->mark.micro_step || stretch->phase != MS_PHASE_FORWARD)
            return NULL;
        if (stretch->layer == layer)
            return stretch;
    }
    return NULL;
}

static uint64_t round_up(const walker *w, uint64_t bytes)
{
    return (bytes + w->block_bytes - 1) / w->block_bytes * w->block_bytes;
}

static uint64_t block_of(const walker *w, uint32_t storage)
{
    return round_up(w, w->trace->storages.items[storage].bytes);
}

static uint32_t layer_of(const walker *w, uint32_t storage)
{
    uint32_t scope = w->trace->storages.items[storage].scope;
    return scope == MS_NONE ? MS_NONE : w->trace->scopes.items[scope].layer;
}

/* What went behind the last layer is noted with the layers that had made it; what was made on the
 * way to the layers, with the first. */
static void note_late(walker *w)
{
    for (uint32_t i = 0; i < w->late.count; i++) {
        uint32_t storage = w->late.items[i], layer = layer_of(w, storage);
        bool is_input =
            layer == MS_NONE && storage >= w->phase_storage && storage < w->layers_storage;
        ms_profile_span *stretch = is_input           ? forward_of(w, 0)
                                   : layer == MS_NONE ? NULL
                                                      : forward_of(w, layer);
        if (stretch && is_input)
            stretch->input_bytes += block_of(w, storage);
        else if (stretch)
            stretch->late_bytes += block_of(w, storage);
    }
    w->late.count = 0;
}

static void play_mark(walker *w, const ms_mark *mark)
{
    if (w->is_open && !mark->begin && mark->phase == MS_PHASE_FORWARD)
        note_late(w);
    w->is_open = mark->step == w->last_step;
    if (!w->is_open || !mark->begin)
        return;
    w->mark = *mark;
    w->phase_storage = w->layers_storage = w->next_storage;
    begin_stretch(w);
}

static void play_op(walker *w, const ms_op_exec *op)
{
    double ms = ms_playback_op(&w->time, op);
    ms_profile_span *stretch = open_stretch(w);
    stretch->compute_ms += ms;
    stretch->flops += (double)op->flops;
    if (op->pass == MS_PASS_RECOMPUTE)
        stretch->recompute_ms += ms;
}

static void note_copy(walker *w, uint32_t id, bool is_wait, double copy_ms)
{
    const ms_work *work = &w->trace->works.items[id];
    if (work->layer == MS_NONE ||
        (work->kind != MS_WORK_TO_HOST && work->kind != MS_WORK_TO_DEVICE))
        return;
    const ms_profile_copy copy = {.is_wait = is_wait,
                                  .kind = work->kind,
                                  .layer = work->layer,
                                  .work = id,
                                  .span = w->profile->spans.count - 1,
                                  .compute_ms = open_stretch(w)->compute_ms,
                                  .copy_ms = copy_ms};
    w->no_memory = w->no_memory || !ms_vec_push(&w->profile->copies, copy);
}

/* This place of the step. */
static ms_turn turn_at(walker *w, double work_ms)
{
    return (ms_turn){.span = w->profile->spans.count - 1,
                     .compute_ms = open_stretch(w)->compute_ms,
                     .work_ms = work_ms};
}

/* Where work of its kind over its link is summed up. */
static ms_profile_work *communication_of(walker *w, const ms_work *work)
{
    return &w->profile->communication[work->kind][w->trace->streams.items[work->stream].link];
}

static void play_work(walker *w, uint32_t id)
{
    const ms_work *work = &w->trace->works.items[id];
    double ms = ms_playback_work(&w->time, id);
    note_copy(w, id, false, ms);
    if (!ms_turns_work(&w->turns, &w->profile->turns, id, turn_at(w, ms)))
        w->no_memory = true;
    ms_profile_span *stretch = open_stretch(w);
    switch ((ms_work_kind)work->kind) {
    case MS_WORK_TO_HOST:
        w->profile->time.copy_ms += ms * stretch->repeats;
        stretch->to_host_ms += ms;
        stretch->sent_bytes += work->layer != MS_NONE ? work->bytes : 0;
        break;
    case MS_WORK_TO_DEVICE:
        w->profile->time.copy_ms += ms * stretch->repeats;
        stretch->from_host_ms += ms;
        if (work->layer != MS_NONE && work->layer != w->layer)
            stretch->returned_bytes += round_up(w, work->bytes);
        break;
    case MS_WORK_ALL_GATHER:
    case MS_WORK_REDUCE_SCATTER:
    case MS_WORK_ALL_REDUCE:
    case MS_WORK_SEND:
    case MS_WORK_RECEIVE:
        communication_of(w, work)->calls += stretch->repeats;
        communication_of(w, work)->bytes += work->bytes * stretch->repeats;
        break;
    case MS_WORK_HOST_UPDATE:
    case MS_WORK_KINDS:
        break;
    }
}

static const ms_work *awaited(const walker *w, uint32_t wait)
{
    return &w->trace->works.items[w->trace->waits.items[wait].work];
}

static void play_wait(walker *w, uint32_t id)
{
    double ms = ms_playback_wait(&w->time, id);
    const ms_wait *wait = &w->trace->waits.items[id];
    uint32_t layer = awaited(w, id)->layer;
    if (wait->stream == MS_STREAM_OPERATORS)
        note_copy(w, wait->work, true, 0);
    if (!ms_turns_wait(&w->turns, &w->profile->turns, id, turn_at(w, 0)))
        w->no_memory = true;
    open_stretch(w)->exposed_ms += ms;
    communication_of(w, awaited(w, id))->exposed_ms += ms * open_stretch(w)->repeats;
    if (layer != MS_NONE && layer + 1 == w->layer)
        open_stretch(w)->exposed_below_ms += ms;
}

static void play_step_event(walker *w, ms_event event)
{
    switch ((ms_event_kind)event.kind) {
    case MS_EVENT_OP_END:
        play_op(w, &w->trace->ops.items[event.id]);
        break;
    case MS_EVENT_WORK:
        play_work(w, event.id);
        break;
    case MS_EVENT_WAIT:
        play_wait(w, event.id);
        break;
    case MS_EVENT_ALLOC:
    case MS_EVENT_FREE:
    case MS_EVENT_OP_BEGIN:
    case MS_EVENT_MARK:
    case MS_EVENT_LAYER:
    case MS_EVENT_RECORD:
    case MS_EVENT_HOST_EVENT:
    case MS_EVENT_HOST_WAIT:
    case MS_EVENT_EMPTY_CACHE:
        break;
    }
    if (w->live_bytes > open_stretch(w)->peak_bytes)
        open_stretch(w)->peak_bytes = w->live_bytes;
}

static void leave_layer(walker *w)
{
    w->is_leaving = false;
    w->late.count = 0;
    if (w->is_open)
        begin_stretch(w);
}

static void play_layer(walker *w, uint32_t layer)
{
    w->layer = layer;
    w->is_leaving = layer == MS_NONE && w->mark.phase == MS_PHASE_FORWARD;
    if (w->layers_storage == w->phase_storage)
        w->layers_storage = w->next_storage;
    if (w->is_open && !w->is_leaving)
        begin_stretch(w);
}

static bool releases(const walker *w, uint32_t id)
{
    const ms_work *work = awaited(w, id);
    return work->layer != MS_NONE && work->kind == MS_WORK_TO_HOST;
}

static void play_alloc(walker *w, uint32_t storage)
{
    w->live_bytes += block_of(w, storage);
    w->next_storage = storage + 1;
}

static void play_free(walker *w, uint32_t storage)
{
    w->live_bytes -= block_of(w, storage);
    if (w->is_open && w->is_releasing)
        open_stretch(w)->released_bytes += block_of(w, storage);
    if (w->is_open && w->mark.phase == MS_PHASE_FORWARD && w->layer == MS_NONE &&
        !ms_vec_push(&w->late, storage))
        w->no_memory = true;
}

/* What happens before or between the stretches too. */
static void play_event(walker *w, ms_event event)
{
    switch ((ms_event_kind)event.kind) {
    case MS_EVENT_ALLOC:
        play_alloc(w, event.id);
        break;
    case MS_EVENT_FREE:
        play_free(w, event.id);
        break;
    case MS_EVENT_MARK:
        play_mark(w, &w->trace->marks.items[event.id]);
        break;
    case MS_EVENT_LAYER:
        play_layer(w, event.id);
        break;
    case MS_EVENT_OP_BEGIN:
    case MS_EVENT_OP_END:
    case MS_EVENT_WORK:
    case MS_EVENT_WAIT:
    case MS_EVENT_RECORD:
    case MS_EVENT_HOST_EVENT:
    case MS_EVENT_HOST_WAIT:
    case MS_EVENT_EMPTY_CACHE:
        break;
    }
}

static void play(walker *w)
{
    for (uint32_t i = 0; i < w->trace->events.count && !w->no_memory; i++) {
        ms_event event = w->trace->events.items[i];
        w->event = i;
        if (event.kind == MS_EVENT_OP_BEGIN && !w->is_leaving) {
            w->is_releasing = false;
            continue;
        }
        if (w->is_leaving && event.kind != MS_EVENT_FREE)
            leave_layer(w);
        if (event.kind != MS_EVENT_FREE)
            w->is_releasing = event.kind == MS_EVENT_WAIT && releases(w, event.id);
        play_event(w, event);
        if (w->is_open && !w->no_memory)
            play_step_event(w, event);
    }
    end_stretch(w);
}

static void sum_time(ms_profile *profile)
{
    ms_step_time *time = &profile->time;
    for (uint32_t i = 0; i < profile->spans.count; i++) {
        const ms_profile_span *stretch = &profile->spans.items[i];
        time->compute_ms += stretch->compute_ms * stretch->repeats;
        time->recompute_ms += stretch->recompute_ms * stretch->repeats;
        time->exposed_ms += stretch->exposed_ms * stretch->repeats;
    }
    time->step_ms = time->compute_ms + time->exposed_ms;
}

ms_status ms_profile_build(const ms_trace *trace, const ms_device *device, ms_allocator_kind kind,
                           ms_profile *profile, ms_error *err)
{
    *profile = (ms_profile){0};
    walker w = {.trace = trace,
                .profile = profile,
                .block_bytes = kind == MS_ALLOCATOR_RAW ? 1 : 512,
                .layer = MS_NONE};
    if (trace->marks.count)
        w.last_step = trace->marks.items[trace->marks.count - 1].step;
    w.no_memory = !ms_playback_init(&w.time, trace, device);
    w.no_memory = !ms_turns_begin(&w.turns, trace) || w.no_memory;
    play(&w);
    ms_turns_end(&w.turns);
    profile->time.lacks_rate = w.time.lacks_rate;
    ms_playback_free(&w.time);
    ms_vec_free(&w.late);
    sum_time(profile);
    if (!w.no_memory)
        return MS_OK;
    ms_profile_free(profile);
    return ms_fail(err, MS_ERR_NOMEM, "out of memory for the step's profile");
}

void ms_profile_free(ms_profile *profile)
{
    ms_vec_free(&profile->spans);
    ms_vec_free(&profile->copies);
    ms_vec_free(&profile->turns);
}
