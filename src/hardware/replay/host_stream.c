/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "hardware/replay/host_stream.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "base/threads.h"

enum { QUEUE = 256, MOST_STREAMS = 16 };

typedef enum command_kind { COMMAND_WORK, COMMAND_RECORD, COMMAND_WAIT } command_kind;

typedef struct command {
    command_kind kind;
    ms_host_work work;
    ms_backend_event *event;
    uint64_t record; /* of the event: this one is made, or waited for */
    uint64_t waits;  /* a record: waits for earlier records of it */
    double given_ms; /* by the machine's clock; 0 where clocks count */
} command;

/* Guarded by the lock of the streams. Records are numbered from 1 as they are enqueued. */
struct ms_backend_event {
    uint64_t asked, happened;
    uint64_t waits_asked, waits_done;
    double at_ms; /* of the latest record */
};

struct ms_host_streams {
    pthread_mutex_t lock;
    pthread_cond_t happened; /* an event */
    bool counts;
    const ms_stop *stop; /* or NULL */
    ms_backend_stream *items[MOST_STREAMS];
    uint32_t count;
};

struct ms_backend_stream {
    ms_host_streams *all;
    pthread_t thread;
    pthread_cond_t added, removed;
    command queue[QUEUE];
    uint32_t first, count; /* of the queue; the first stays in it while it runs */
    bool ends;
    double now_ms; /* its clock */
    void *tiles;   /* for products */
};

/* ---- on the stream's thread ---- */

/* In short pieces, as it may be asked to stop. */
static void sleep_until(double end_ms, const ms_stop *stop)
{
    static const double most_ms = 50;
    double left_ms;
    while (!ms_stop_asked(stop) && (left_ms = end_ms - ms_now_ms()) > 0) {
        double piece_ms = left_ms < most_ms ? left_ms : most_ms;
        nanosleep(&(struct timespec){.tv_nsec = (long)(piece_ms * 1e6)}, NULL);
    }
}

static void raise_clock(ms_backend_stream *s, double ms)
{
    if (ms > s->now_ms)
        s->now_ms = ms;
}

/* Where work takes its time by a rate, the next begins when it ought to have ended: what a thread
 * takes to wake up is no part of the device. */
static void do_work(ms_backend_stream *s, const ms_host_work *work)
{
    static const double wake_ms = 2;
    double real_ms = s->all->counts ? 0 : ms_now_ms();
    double begin_ms = s->now_ms;
    if (ms_stop_asked(work->stop))
        return;
    if (!s->all->counts && (work->least_ms <= 0 || real_ms - begin_ms > wake_ms))
        begin_ms = real_ms;
    if (work->run)
        work->run(work, s->tiles);
    s->now_ms = begin_ms + work->least_ms;
    if (s->all->counts)
        return;
    sleep_until(s->now_ms, work->stop);
    real_ms = ms_now_ms();
    if (work->least_ms <= 0 || real_ms - s->now_ms > wake_ms)
        s->now_ms = real_ms;
}

/* Clocks that count must not see a later record's time, so that one comes after the waits for those
 * before it. They were enqueued earlier, as was all that they wait for. */
static void do_record(ms_backend_stream *s, const command *c)
{
    double now_ms = s->now_ms;
    while (s->all->counts && c->event->waits_done < c->waits)
        pthread_cond_wait(&s->all->happened, &s->all->lock);
    c->event->happened = c->record;
    c->event->at_ms = now_ms;
    pthread_cond_broadcast(&s->all->happened);
}

static void do_wait(ms_backend_stream *s, const command *c)
{
    ms_host_streams *all = s->all;
    while (c->event->happened < c->record)
        pthread_cond_wait(&all->happened, &all->lock);
    c->event->waits_done++;
    raise_clock(s, c->event->at_ms);
    if (all->counts)
        pthread_cond_broadcast(&all->happened);
}

/* With the lock held, except while work runs. */
static void do_first(ms_backend_stream *s)
{
    const command *c = &s->queue[s->first];
    raise_clock(s, c->given_ms);
    switch (c->kind) {
    case COMMAND_WORK:
        pthread_mutex_unlock(&s->all->lock);
        do_work(s, &c->work);
        pthread_mutex_lock(&s->all->lock);
        break;
    case COMMAND_RECORD:
        do_record(s, c);
        break;
    case COMMAND_WAIT:
        do_wait(s, c);
        break;
    }
    s->first = (s->first + 1) % QUEUE;
    s->count--;
    pthread_cond_broadcast(&s->removed);
}

static void *run(void *argument)
{
    ms_backend_stream *s = argument;
    pthread_mutex_lock(&s->all->lock);
    while (s->count > 0 || !s->ends) {
        if (s->count > 0)
            do_first(s);
        else
            pthread_cond_wait(&s->added, &s->all->lock);
    }
    pthread_mutex_unlock(&s->all->lock);
    return NULL;
}

/* ---- on the caller's ---- */

static void add(ms_backend_stream *s, const command *c)
{
    double given_ms = s->all->counts ? 0 : ms_now_ms();
    pthread_mutex_lock(&s->all->lock);
    while (s->count == QUEUE)
        pthread_cond_wait(&s->removed, &s->all->lock);
    command *slot = &s->queue[(s->first + s->count++) % QUEUE];
    *slot = *c;
    slot->given_ms = given_ms;
    slot->work.stop = s->all->stop;
    if (c->kind == COMMAND_RECORD) {
        slot->record = ++c->event->asked;
        slot->waits = c->event->waits_asked;
    } else if (c->kind == COMMAND_WAIT) {
        slot->record = c->event->asked;
        c->event->waits_asked++;
    }
    pthread_cond_signal(&s->added);
    pthread_mutex_unlock(&s->all->lock);
}

void ms_replay_stream_add(ms_backend_stream *stream, const ms_host_work *work)
{
    add(stream, &(command){.kind = COMMAND_WORK, .work = *work});
}

void ms_replay_stream_record(ms_backend_stream *stream, ms_backend_event *event)
{
    add(stream, &(command){.kind = COMMAND_RECORD, .event = event});
}

void ms_replay_stream_wait(ms_backend_stream *stream, ms_backend_event *event)
{
    add(stream, &(command){.kind = COMMAND_WAIT, .event = event});
}

void ms_replay_streams_finish(ms_host_streams *all, ms_backend_stream *stream)
{
    pthread_mutex_lock(&all->lock);
    for (uint32_t i = 0; i < all->count; i++)
        while ((!stream || stream == all->items[i]) && all->items[i]->count > 0)
            pthread_cond_wait(&all->items[i]->removed, &all->lock);
    pthread_mutex_unlock(&all->lock);
}

void ms_replay_event_finish(ms_host_streams *all, const ms_backend_event *event)
{
    pthread_mutex_lock(&all->lock);
    while (event->happened < event->asked)
        pthread_cond_wait(&all->happened, &all->lock);
    pthread_mutex_unlock(&all->lock);
}

bool ms_replay_event_elapsed(ms_host_streams *all, const ms_backend_event *begin,
                             const ms_backend_event *end, double *ms)
{
    pthread_mutex_lock(&all->lock);
    bool have = begin->happened > 0 && end->happened > 0;
    *ms = end->at_ms - begin->at_ms;
    pthread_mutex_unlock(&all->lock);
    return have;
}

/* ---- opening and closing ---- */

ms_host_streams *ms_replay_streams_create(bool counts, const ms_stop *stop)
{
    ms_host_streams *all = calloc(1, sizeof *all);
    if (!all)
        return NULL;
    all->counts = counts;
    all->stop = stop;
    pthread_mutex_init(&all->lock, NULL);
    pthread_cond_init(&all->happened, NULL);
    return all;
}

void ms_replay_streams_free(ms_host_streams *all)
{
    pthread_cond_destroy(&all->happened);
    pthread_mutex_destroy(&all->lock);
    free(all);
}

static void free_stream(ms_backend_stream *s)
{
    pthread_cond_destroy(&s->added);
    pthread_cond_destroy(&s->removed);
    free(s->tiles);
    free(s);
}

ms_status ms_replay_stream_open(ms_host_streams *all, ms_backend_stream **stream, ms_error *err)
{
    *stream = NULL;
    if (all->count == MOST_STREAMS)
        return ms_fail(err, MS_ERR_LIMIT, "the host backend has at most %d streams", MOST_STREAMS);
    ms_backend_stream *s = calloc(1, sizeof *s);
    if (!s)
        return ms_fail(err, MS_ERR_NOMEM, "no memory for a stream");
    s->all = all;
    s->now_ms = all->counts ? 0 : ms_now_ms();
    s->tiles = all->counts ? NULL : malloc((size_t)ms_replay_blas_tile_bytes());
    pthread_cond_init(&s->added, NULL);
    pthread_cond_init(&s->removed, NULL);
    if ((!s->tiles && !all->counts) || ms_threads_start(run, s, &s->thread, 1) == 0) {
        free_stream(s);
        return ms_fail(err, MS_ERR_NOMEM, "no memory, or no thread, for a stream");
    }
    pthread_mutex_lock(&all->lock);
    all->items[all->count++] = s;
    pthread_mutex_unlock(&all->lock);
    *stream = s;
    return MS_OK;
}

void ms_replay_stream_close(ms_host_streams *all, ms_backend_stream *s)
{
    pthread_mutex_lock(&all->lock);
    s->ends = true;
    pthread_cond_signal(&s->added);
    pthread_mutex_unlock(&all->lock);
    pthread_join(s->thread, NULL);
    uint32_t at = 0;
    while (all->items[at] != s)
        at++;
    all->items[at] = all->items[--all->count];
    free_stream(s);
}

ms_backend_event *ms_replay_event_open(void)
{
    return calloc(1, sizeof(ms_backend_event));
}

void ms_replay_event_close(ms_backend_event *event)
{
    free(event);
}
