/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Independent tasks on several threads.
 */
#ifndef MS_BASE_THREADS_H
#define MS_BASE_THREADS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* Calls work(context, 0) ... work(context, count - 1), each once, in any order, with one thread per
 * processor, and returns when all are done. The caller's thread works too: if no thread can be
 * started it does everything, so this cannot fail. Tasks must not share results. All threads have
 * ended when it returns. */
void ms_threads_run(uint32_t count, void (*work)(void *context, uint32_t index), void *context);

/* The same on at most `most` threads; 0: as many as there are processors. */
void ms_threads_run_on(uint32_t most, uint32_t count, void (*work)(void *context, uint32_t index),
                       void *context);

/* The processors this process may use (container, taskset), not those of the machine; at least 1.
 */
uint32_t ms_threads_processors(void);

/* Starts up to `wanted` threads, which the caller joins; returns how many were started. Signals are
 * blocked in them, so that the program's own threads handle them. */
uint32_t ms_threads_start(void *(*run)(void *argument), void *argument, pthread_t *threads,
                          uint32_t wanted);

/* ---- ordered ---- */

/* A sequence of independent tasks on several threads, whose results are delivered in the order of
 * the tasks. Memory does not depend on the number of tasks. */

enum { MS_ORDERED_MOST_THREADS = 256, MS_ORDERED_MOST_SLOTS = 1024 };

/* A task occupies a slot from `take` until `deliver` has returned. */
typedef struct ms_ordered {
    uint32_t threads; /* 0: as many as the process may use */
    uint32_t slots; /* at least one for each thread; more let fast tasks run ahead of a slow one */
    bool (*take)(void *context, uint32_t slot);    /* one at a time, in order; false: no more */
    void (*work)(void *context, uint32_t slot);    /* side by side */
    bool (*deliver)(void *context, uint32_t slot); /* one at a time, in order; false: stop */
    void *context;
} ms_ordered;

/* Returns when all results are delivered, or `deliver` has stopped it. The caller's thread works
 * too, so this cannot fail. All threads have ended when it returns. */
void ms_ordered_run(const ms_ordered *tasks);

#endif
