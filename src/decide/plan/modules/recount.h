/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Counts a plan in whole bytes, independently of the optimisation problem.
 */
#ifndef MS_DECIDE_PLAN_MODULES_RECOUNT_H
#define MS_DECIDE_PLAN_MODULES_RECOUNT_H

#include "decide/plan/modules/checkpoints.h"

/* Bytes that a module frees when `parts` of its outputs are discarded. */
uint64_t ms_checkpoint_freed_bytes(const ms_module *module, uint32_t parts);
/* Bytes at the peak of a module's backward when nothing is discarded. */
uint64_t ms_checkpoint_kept_bytes(const ms_checkpoint_task *task, uint32_t module);
/* The peak over all modules; `order` lists them in the order in which forward leaves them. */
uint64_t ms_checkpoint_peak(const ms_checkpoint_task *task, const uint32_t *order,
                            const uint32_t *parts, uint32_t *module);
/* Time to recompute the discarded parts of a module, ms. */
double ms_checkpoint_ms(const ms_module *module, uint32_t parts);

#endif
