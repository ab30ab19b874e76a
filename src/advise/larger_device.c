/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "advise/larger_device.h"

ms_status ms_larger_device(ms_arena *arena, const ms_run_config *run, uint64_t needed_bytes,
                           const ms_device **next, ms_error *err)
{
    const ms_device *devices = NULL;
    uint32_t count = 0;
    uint64_t present = ms_device_usable_bytes(run->device), least = UINT64_MAX;
    *next = NULL;
    if (run->device->is_cpu || run->has_budget || run->calibration)
        return MS_OK;
    ms_status status = ms_devices_load(arena, &devices, &count, err);
    for (uint32_t i = 0; i < count; i++) {
        const ms_device *d = &devices[i];
        uint64_t usable = ms_device_usable_bytes(d);
        bool is_alike = !d->compute_capability == !run->device->compute_capability;
        if (!d->is_cpu && is_alike && usable > present && usable >= needed_bytes &&
            usable < least) {
            *next = d;
            least = usable;
        }
    }
    return status;
}
