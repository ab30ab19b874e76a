/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A sequence of independent tasks on several threads, whose results are delivered in the order of
 * the tasks. Memory does not depend on the number of tasks.
 */
#ifndef MS_BASE_ORDERED_H
#define MS_BASE_ORDERED_H

#include <stdbool.h>
#include <stdint.h>

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
