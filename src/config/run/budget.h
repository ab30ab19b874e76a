/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Budgets: the one place that turns what a run may take into what its allocator may reserve, and
 * back. Two words: `budget_bytes` is what the user gives, or the device has, for the whole process
 * as the device shows it, its context included; `capacity_bytes` is what of that the allocator may
 * reserve. 0 is no budget and no limit.
 */
#ifndef MS_CONFIG_RUN_BUDGET_H
#define MS_CONFIG_RUN_BUDGET_H

#include "config/run/run_config.h"

/* What the device shows for a process, its context included, which is an estimate. */
typedef struct ms_device_bytes {
    uint64_t low, expected, high;
} ms_device_bytes;

/* When so much is reserved. */
ms_device_bytes ms_budget_device_bytes(const ms_device *device, uint64_t reserved_bytes);

/* What may be reserved within a budget, with the expected context: at least one byte, as 0 would be
 * no limit. */
uint64_t ms_budget_capacity(const ms_device *device, uint64_t budget_bytes);

/* Gives the run a budget, and its allocator the capacity that follows; the raw allocator knows no
 * limit. */
void ms_budget_set(ms_run_config *run, uint64_t budget_bytes);
/* Takes the limit from the allocator alone: what does not fit is then only seen by the budget. */
void ms_budget_lift(ms_run_config *run);

#endif
