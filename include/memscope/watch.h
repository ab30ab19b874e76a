/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Follows a call that takes long, from another thread: how many simulations it has done, and that
 * it is to end.
 *
 *     ms_watch *watch = ms_watch_create();
 *     ms_run_set_watch(run, watch);
 *     ... one thread: ms_fit *fit = ms_fit_find(run, "batch", 0, &err);
 *     ... another one: printf("%" PRIu64 "\n", ms_watch_done(watch)); ms_watch_stop(watch);
 */
#ifndef MEMSCOPE_WATCH_H
#define MEMSCOPE_WATCH_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* May be used from several threads at the same time, except for ms_watch_free. It must outlive
 * the calls that it is given to. */
typedef struct ms_watch ms_watch;

ms_watch *ms_watch_create(void);     /* NULL when out of memory */
void ms_watch_free(ms_watch *watch); /* NULL is fine */

/* Simulations so far; of a check, budgets. */
uint64_t ms_watch_done(const ms_watch *watch);

/* The calls end soon, and fail with MS_ERR_STOPPED; so do later ones. ms_plan_stop ends a plan with
 * the best answer by then. */
void ms_watch_stop(ms_watch *watch);

#ifdef __cplusplus
}
#endif
#endif
