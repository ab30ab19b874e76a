/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "run/step/pipeline/copied.h"

#include "core/trace/build.h"

/* Whose storage an event is about. */
typedef enum owner {
    OWNER_FORWARD = MS_FLIGHT_FORWARD, /* what that part of the micro-batch made */
    OWNER_LOSS = MS_FLIGHT_LOSS,
    OWNER_BACKWARD = MS_FLIGHT_BACKWARD,
    OWNER_PARAMETER, /* its gradient before the pass */
    OWNER_NONE       /* the same for all micro-batches */
} owner;

struct ms_copied_event {
    uint8_t kind, owner;
    uint32_t id; /* among what its owner made; else as in the trace */
};

struct ms_new_gradient {
    uint32_t parameter;
    uint32_t made; /* by the pass, as its n-th storage */
};

static uint32_t gradient_of(ms_tape *tape, uint32_t parameter)
{
    ms_tensor gradient = tape->parameters.items[parameter].grad;
    return gradient ? ms_info(tape, gradient)->storage : MS_NONE;
}

void ms_pass_begin(ms_pass_recorder *recorder, ms_tape *tape)
{
    recorder->first_event = tape->trace->events.count;
    recorder->first_storage = tape->trace->storages.count;
    recorder->first_work = tape->trace->works.count;
    for (uint32_t i = 0; i < recorder->parameters; i++)
        recorder->gradients[i] = gradient_of(tape, i);
}

void ms_pass_end(const ms_pass_recorder *recorder, const ms_tape *tape, ms_flight_part part,
                 ms_made_parts *made)
{
    made->part[part] =
        (ms_made){recorder->first_storage, tape->trace->storages.count - recorder->first_storage};
}

/* ---- recording ---- */

static bool has_made(const ms_made *made, uint32_t storage)
{
    return storage >= made->first && storage - made->first < made->count;
}

static ms_copied_event owned(const ms_pass_recorder *r, const ms_made_parts *made, ms_event event)
{
    for (int part = 0; part < MS_FLIGHT_PARTS; part++)
        if (has_made(&made->part[part], event.id))
            return (ms_copied_event){(uint8_t)event.kind, (uint8_t)part,
                                     event.id - made->part[part].first};
    for (uint32_t i = 0; i < r->parameters; i++)
        if (r->gradients[i] == event.id)
            return (ms_copied_event){(uint8_t)event.kind, OWNER_PARAMETER, i};
    return (ms_copied_event){(uint8_t)event.kind, OWNER_NONE, event.id};
}

/* False: a copy would be of something else. */
static bool record_event(const ms_pass_recorder *r, const ms_made_parts *made, ms_event event,
                         ms_copied_event *copied)
{
    *copied = (ms_copied_event){(uint8_t)event.kind, OWNER_NONE, event.id};
    switch ((ms_event_kind)event.kind) {
    case MS_EVENT_ALLOC:
    case MS_EVENT_FREE:
        *copied = owned(r, made, event);
        return copied->owner != OWNER_NONE;
    case MS_EVENT_LAYER:
    case MS_EVENT_WORK:
    case MS_EVENT_WAIT:
    case MS_EVENT_RECORD:
        return true;
    case MS_EVENT_OP_BEGIN:
    case MS_EVENT_OP_END:
    case MS_EVENT_MARK:
    case MS_EVENT_HOST_EVENT:
    case MS_EVENT_HOST_WAIT:
    case MS_EVENT_EMPTY_CACHE:
        break;
    }
    return false;
}

/* Gradients of parameters that have other storages now. */
static bool record_gradients(const ms_pass_recorder *r, ms_tape *tape, const ms_made *made,
                             ms_recorded_pass *pass)
{
    for (uint32_t i = 0; i < r->parameters; i++) {
        uint32_t storage = gradient_of(tape, i);
        if (storage == r->gradients[i])
            continue;
        if (r->gradients[i] == MS_NONE || !has_made(made, storage) ||
            tape->storage_refs.items[storage] != 1)
            return false;
        pass->gradients[pass->gradient_count++] = (ms_new_gradient){i, storage - made->first};
    }
    return true;
}

static bool record(const ms_pass_recorder *r, ms_tape *tape, const ms_made *own,
                   ms_recorded_pass *pass)
{
    for (uint32_t i = 0; i < pass->event_count; i++)
        if (!record_event(r, &pass->made, tape->trace->events.items[r->first_event + i],
                          &pass->events[i]))
            return false;
    return (!pass->has_result || has_made(own, pass->result.storage)) &&
           record_gradients(r, tape, own, pass);
}

bool ms_pass_record(const ms_pass_recorder *recorder, ms_tape *tape, ms_arena *arena,
                    ms_flight_part part, const ms_made_parts *made, ms_tensor result,
                    ms_recorded_pass *pass)
{
    if (tape->status != MS_OK)
        return false;
    uint32_t count = tape->trace->events.count - recorder->first_event;
    *pass = (ms_recorded_pass){.made = *made,
                               .events = ms_arena_array(arena, ms_copied_event, count + 1),
                               .gradients =
                                   ms_arena_array(arena, ms_new_gradient, recorder->parameters + 1),
                               .event_count = count,
                               .first_work = recorder->first_work,
                               .has_result = result != 0};
    if (!pass->events || !pass->gradients) {
        ms_tape_fail(tape, MS_ERR_NOMEM);
        return false;
    }
    if (result)
        pass->result = *ms_info(tape, result);
    pass->is_there = record(recorder, tape, &made->part[part], pass);
    return pass->is_there;
}

/* ---- copies ---- */

/* What the micro-batch made must have the shape of what the recorded one made by then. */
static bool is_alike(const ms_recorded_pass *pass, ms_flight_part part, const ms_made_parts *made)
{
    for (int i = 0; i < (int)part; i++)
        if (pass->made.part[i].count != made->part[i].count)
            return false;
    return true;
}

/* The micro-batch's counterpart of a storage; others than those of parts are the same. */
static uint32_t counterpart(const ms_recorded_pass *pass, const ms_made_parts *made,
                            uint32_t storage)
{
    for (int i = 0; i < MS_FLIGHT_PARTS && storage != MS_NONE; i++)
        if (has_made(&pass->made.part[i], storage))
            return storage - pass->made.part[i].first + made->part[i].first;
    return storage;
}

static uint32_t later_work(const ms_recorded_pass *pass, uint32_t first, uint32_t work)
{
    return work == MS_NONE || work < pass->first_work ? work : work - pass->first_work + first;
}

static bool copy_storages(ms_tape *tape, const ms_made *from)
{
    ms_trace *trace = tape->trace;
    for (uint32_t i = 0; i < from->count; i++) {
        const ms_storage row = trace->storages.items[from->first + i];
        if (ms_trace_add_storage(trace, &row) == MS_NONE || !ms_vec_push(&tape->storage_refs, 0u))
            return false;
    }
    return true;
}

static bool copy_row(const ms_recorded_pass *pass, ms_tape *tape, const ms_made_parts *made,
                     uint32_t first_work, const ms_copied_event *event)
{
    ms_trace *trace = tape->trace;
    if (event->kind == MS_EVENT_WORK) {
        ms_work work = trace->works.items[event->id];
        work.source = counterpart(pass, made, work.source);
        work.target = counterpart(pass, made, work.target);
        work.after = later_work(pass, first_work, work.after);
        return ms_trace_add_work(trace, work) != MS_NONE;
    }
    if (event->kind == MS_EVENT_WAIT) {
        const ms_wait wait = trace->waits.items[event->id];
        uint32_t work = later_work(pass, first_work, wait.work);
        return ms_trace_add_wait(trace, wait.stream, work) != MS_NONE;
    }
    const ms_use use = trace->uses.items[event->id];
    return ms_trace_add_use(trace, counterpart(pass, made, use.storage), use.stream) != MS_NONE;
}

static void copy_events(const ms_recorded_pass *pass, ms_tape *tape, const ms_made_parts *made)
{
    uint32_t first_work = tape->trace->works.count;
    for (uint32_t i = 0; i < pass->event_count && tape->status == MS_OK; i++) {
        const ms_copied_event *event = &pass->events[i];
        if (event->kind == MS_EVENT_WORK || event->kind == MS_EVENT_WAIT ||
            event->kind == MS_EVENT_RECORD) {
            if (!copy_row(pass, tape, made, first_work, event))
                ms_tape_fail(tape, MS_ERR_NOMEM);
            continue;
        }
        uint32_t id = event->id;
        if (event->owner < MS_FLIGHT_PARTS)
            id += made->part[event->owner].first;
        else if (event->owner == OWNER_PARAMETER)
            id = gradient_of(tape, id);
        ms_trace_event(tape, (ms_event_kind)event->kind, id);
    }
}

static void renew_gradients(const ms_recorded_pass *pass, ms_tape *tape, uint32_t first)
{
    for (uint32_t i = 0; i < pass->gradient_count; i++) {
        const ms_new_gradient *g = &pass->gradients[i];
        ms_tensor_info *info = ms_info(tape, tape->parameters.items[g->parameter].grad);
        tape->storage_refs.items[info->storage] = 0;
        info->storage = first + g->made;
        tape->storage_refs.items[info->storage] = 1;
    }
}

bool ms_pass_copy(const ms_recorded_pass *pass, ms_tape *tape, ms_flight_part part,
                  ms_made_parts *made, ms_tensor *result)
{
    const ms_made from = pass->made.part[part];
    *result = 0;
    if (!pass->is_there || !is_alike(pass, part, made))
        return false;
    made->part[part] = (ms_made){tape->trace->storages.count, from.count};
    if (!copy_storages(tape, &from)) {
        ms_tape_fail(tape, MS_ERR_NOMEM);
        return true;
    }
    copy_events(pass, tape, made);
    renew_gradients(pass, tape, made->part[part].first);
    if (pass->has_result)
        *result =
            ms_storage_tensor(tape, counterpart(pass, made, pass->result.storage), &pass->result);
    return true;
}
