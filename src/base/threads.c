/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _GNU_SOURCE /* for affinity; NOLINT(clang-diagnostic-reserved-macro-identifier) */
#include "base/threads.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>

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
