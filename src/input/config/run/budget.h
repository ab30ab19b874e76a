/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Budgets: converts a budget of the process to a capacity of its allocator, and back.
 * `budget_bytes` is the memory of the whole process on the device, CUDA context included, as the
 * user gives it or the device has it; `capacity_bytes` is the part that the allocator may reserve.
 * 0 means no budget and no limit.
 */
#ifndef MS_INPUT_CONFIG_RUN_BUDGET_H
#define MS_INPUT_CONFIG_RUN_BUDGET_H

#include "input/config/run/run_config.h"

/* Memory of a process on the device, including the CUDA context, which is an estimate. */
typedef struct ms_device_bytes {
    uint64_t low, expected, high;
} ms_device_bytes;

/* The device bytes for these reserved bytes. */
ms_device_bytes ms_budget_device_bytes(const ms_device *device, uint64_t reserved_bytes);

/* Groups of ranks that speak to each other, one communicator each. */
uint32_t ms_communicators_of(const ms_layout *layout);
/* What NCCL's buffers take at most, outside the allocator: 688 MB for each communicator of more
 * than two ranks, as users of PyTorch measured them on four A100. They grow with the channels and
 * peers that are in use. */
uint64_t ms_budget_nccl_bytes(const ms_run_config *run);

/* The bytes that may be reserved within a budget, with the expected context: at least 1, as 0 would
 * be no limit. */
uint64_t ms_budget_capacity(const ms_device *device, uint64_t budget_bytes);

/* Sets the budget of the run and the resulting capacity of its allocator; the raw allocator has no
 * limit. */
void ms_budget_set(ms_run_config *run, uint64_t budget_bytes);
/* Removes only the allocator's limit; exceeding the budget is then detected afterwards. */
void ms_budget_lift(ms_run_config *run);

#endif
