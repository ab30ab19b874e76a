/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "decide/advise/larger_device.h"

ms_status ms_other_devices_load(ms_arena *arena, const ms_run_config *run, ms_other_devices *others,
                                ms_error *err)
{
    *others = (ms_other_devices){0};
    if (run->device->is_cpu || run->has_budget || run->calibration)
        return MS_OK;
    *others = (ms_other_devices){run->devices, run->device_count};
    return run->devices ? MS_OK : ms_devices_load(arena, &others->items, &others->count, err);
}

const ms_device *ms_larger_device(const ms_other_devices *others, const ms_run_config *run,
                                  uint64_t needed_bytes)
{
    const ms_device *next = NULL;
    const uint64_t present = ms_device_usable_bytes(run->device);
    for (uint32_t i = 0; i < others->count; i++) {
        const ms_device *d = &others->items[i];
        const uint64_t usable = ms_device_usable_bytes(d);
        bool is_alike = !d->compute_capability == !run->device->compute_capability;
        if (!d->is_cpu && is_alike && usable > present && usable >= needed_bytes &&
            (!next || usable < ms_device_usable_bytes(next)))
            next = d;
    }
    return next;
}
