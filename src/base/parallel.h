/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Independent tasks on as many processors as the process may use.
 */
#ifndef MS_BASE_PARALLEL_H
#define MS_BASE_PARALLEL_H

#include <pthread.h>
#include <stdint.h>

/* Calls work(context, 0) ... work(context, count - 1), each once, in any order, and returns when
 * all are done. The caller's thread works too: where no thread can be made it does everything
 * itself, so this cannot fail. Tasks keep their results apart; every thread has ended afterwards.
 */
void ms_parallel_run(uint32_t count, void (*work)(void *context, uint32_t index), void *context);

/* The same on at most `most` threads; 0: as many as there are processors. */
void ms_parallel_run_on(uint32_t most, uint32_t count, void (*work)(void *context, uint32_t index),
                        void *context);

/* The processors that a container or taskset leaves us, not those of the machine; at least 1. */
uint32_t ms_parallel_processors(void);

/* Starts up to `wanted` threads, to be joined; returns how many there are. They leave signals to
 * those of the program. */
uint32_t ms_parallel_start(void *(*run)(void *argument), void *argument, pthread_t *threads,
                           uint32_t wanted);

#endif
