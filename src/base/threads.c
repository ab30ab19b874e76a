/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _GNU_SOURCE /* for affinity; NOLINT(clang-diagnostic-reserved-macro-identifier) */

#include "base/threads.h"

#include <sched.h>
#include <signal.h>
#include <stdatomic.h>

/* ---- ordered ---- */

typedef struct stream {
    const ms_ordered *tasks;
    uint32_t slots;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    uint64_t taken, delivered;
    bool is_done[MS_ORDERED_MOST_SLOTS]; /* by slot: worked, not delivered yet */
    bool has_ended;                      /* nothing more is taken */
    bool is_delivering;                  /* a thread delivers now */
} stream;

/* Waits for a slot and fills it; false when there is nothing more to do. */
static bool take(stream *s, uint32_t *slot)
{
    while (!s->has_ended && s->taken - s->delivered == s->slots)
        pthread_cond_wait(&s->changed, &s->lock);
    *slot = (uint32_t)(s->taken % s->slots);
    if (!s->has_ended && !s->tasks->take(s->tasks->context, *slot))
        s->has_ended = true;
    if (s->has_ended) {
        pthread_cond_broadcast(&s->changed);
        return false;
    }
    s->taken++;
    return true;
}

/* Delivers whatever has its turn; what is finished meanwhile, too. */
static void deliver(stream *s)
{
    bool go_on = true;
    if (s->is_delivering)
        return;
    s->is_delivering = true;
    while (go_on && s->delivered < s->taken && s->is_done[s->delivered % s->slots]) {
        uint32_t slot = (uint32_t)(s->delivered % s->slots);
        pthread_mutex_unlock(&s->lock);
        go_on = s->tasks->deliver(s->tasks->context, slot);
        pthread_mutex_lock(&s->lock);
        s->is_done[slot] = false;
        s->delivered++;
        s->has_ended = s->has_ended || !go_on;
        pthread_cond_broadcast(&s->changed);
    }
    s->is_delivering = !go_on; /* after a refusal nobody delivers again */
}

static void *run_stream(void *argument)
{
    stream *s = argument;
    uint32_t slot;
    pthread_mutex_lock(&s->lock);
    while (take(s, &slot)) {
        pthread_mutex_unlock(&s->lock);
        s->tasks->work(s->tasks->context, slot);
        pthread_mutex_lock(&s->lock);
        s->is_done[slot] = true;
        deliver(s);
    }
    pthread_mutex_unlock(&s->lock);
    return NULL;
}

void ms_ordered_run(const ms_ordered *tasks)
{
    pthread_t threads[MS_ORDERED_MOST_THREADS];
    uint32_t wanted = tasks->threads ? tasks->threads : ms_threads_processors();
    stream s = {.tasks = tasks,
                .slots = tasks->slots,
                .lock = PTHREAD_MUTEX_INITIALIZER,
                .changed = PTHREAD_COND_INITIALIZER};
    if (wanted > MS_ORDERED_MOST_THREADS)
        wanted = MS_ORDERED_MOST_THREADS;
    if (s.slots > MS_ORDERED_MOST_SLOTS)
        s.slots = MS_ORDERED_MOST_SLOTS;
    uint32_t helpers = ms_threads_start(run_stream, &s, threads, wanted - 1);
    run_stream(&s);
    for (uint32_t i = 0; i < helpers; i++)
        pthread_join(threads[i], NULL);
    pthread_cond_destroy(&s.changed);
    pthread_mutex_destroy(&s.lock);
}

/* ---- threads ---- */

enum { MOST_THREADS = 16 };

typedef struct queue {
    atomic_uint next;
    uint32_t count;
    void (*work)(void *context, uint32_t index);
    void *context;
} queue;

static void *take_tasks(void *argument)
{
    queue *q = argument;
    for (uint32_t index; (index = atomic_fetch_add(&q->next, 1)) < q->count;)
        q->work(q->context, index);
    return NULL;
}

uint32_t ms_threads_processors(void)
{
    cpu_set_t set;
    int count = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
    return count > 1 ? (uint32_t)count : 1;
}

uint32_t ms_threads_start(void *(*run)(void *argument), void *argument, pthread_t *threads,
                          uint32_t wanted)
{
    sigset_t all, before;
    uint32_t count = 0;
    sigfillset(&all);
    if (wanted == 0 || pthread_sigmask(SIG_SETMASK, &all, &before) != 0)
        return 0;
    while (count < wanted && pthread_create(&threads[count], NULL, run, argument) == 0)
        count++;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return count;
}

void ms_threads_run(uint32_t count, void (*work)(void *context, uint32_t index), void *context)
{
    ms_threads_run_on(0, count, work, context);
}

void ms_threads_run_on(uint32_t most, uint32_t count, void (*work)(void *context, uint32_t index),
                       void *context)
{
    queue q = {.count = count, .work = work, .context = context};
    pthread_t threads[MOST_THREADS];
    uint32_t helpers = most ? most : ms_threads_processors();
    if (helpers > count)
        helpers = count;
    helpers = helpers > MOST_THREADS ? MOST_THREADS : helpers;
    helpers = helpers ? ms_threads_start(take_tasks, &q, threads, helpers - 1) : 0;
    take_tasks(&q);
    for (uint32_t i = 0; i < helpers; i++)
        pthread_join(threads[i], NULL);
}
