/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Independent tasks on as many processors as the process may use.
 */
#ifndef MS_BASE_PARALLEL_H
#define MS_BASE_PARALLEL_H

#include <stdint.h>

/* Calls work(context, 0) ... work(context, count - 1), each once, in any order, and returns when
 * all are done. The caller's thread works too: where no thread can be made it does everything
 * itself, so this cannot fail. Tasks keep their results apart; every thread has ended afterwards.
 */
void ms_parallel_run(uint32_t count, void (*work)(void *context, uint32_t index), void *context);

/* The same on at most `most` threads; 0: as many as there are processors. */
void ms_parallel_run_on(uint32_t most, uint32_t count, void (*work)(void *context, uint32_t index),
                        void *context);

#endif
