/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/config/run/budget.h"

ms_device_bytes ms_budget_device_bytes(const ms_device *d, uint64_t reserved_bytes)
{
    return (ms_device_bytes){
        .low = ms_device_used_bytes(d, reserved_bytes, d->context_low_bytes),
        .expected = ms_device_used_bytes(d, reserved_bytes, d->context_expected_bytes),
        .high = ms_device_used_bytes(d, reserved_bytes, d->context_high_bytes)};
}

uint32_t ms_communicators_of(const ms_layout *layout)
{
    if (layout->kind == MS_PARALLEL_NONE)
        return 0;
    return (uint32_t)(layout->shards > 1) + (uint32_t)(layout->copies > 1) +
           (uint32_t)(layout->tensor > 1) + (uint32_t)(layout->context > 1);
}

uint64_t ms_budget_nccl_bytes(const ms_run_config *run)
{
    static const uint64_t communicator_bytes = 688000000;
    return run->device->is_cpu ? 0
                               : ms_communicators_of(&run->parallel.layout) * communicator_bytes;
}

uint64_t ms_budget_capacity(const ms_device *device, uint64_t budget_bytes)
{
    if (budget_bytes == 0)
        return 0;
    uint64_t bytes = ms_device_reservable_bytes(device, budget_bytes);
    return bytes > 0 ? bytes : 1;
}

void ms_budget_set(ms_run_config *run, uint64_t budget_bytes)
{
    run->budget_bytes = budget_bytes;
    if (run->allocator.kind != MS_ALLOCATOR_RAW)
        run->allocator.capacity_bytes = ms_budget_capacity(run->device, budget_bytes);
}

void ms_budget_lift(ms_run_config *run)
{
    run->allocator.capacity_bytes = 0;
}
