/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/config/resolve/resolve_times.h"

#include <string.h>

#include "input/config/resolve/prices.h"
#include "core/device/rates.h"

static ms_status calibrate(const ms_resolving *c, ms_device *device)
{
    const ms_calibration *measured = c->draft->measured;
    if (!measured)
        return MS_OK;
    if (strcmp(measured->device, device->name) != 0)
        return ms_resolve_fail(c, "calibration", "it is for %.40s, but the run's device is %s",
                               measured->device, device->name);
    ms_calibration_apply(measured, device);
    c->run->calibration = measured;
    return MS_OK;
}

static ms_status set_mfu(const ms_resolving *c, ms_device *device)
{
    if (!ms_resolve_is_set(c, "mfu"))
        return MS_OK;
    if (device->slowdown[MS_OP_PRODUCT] > 0 || device->slowdown[MS_OP_ATTENTION] > 0)
        return ms_resolve_fail(c, "mfu", "the calibration has the times of products already");
    if (!ms_device_has_rates(device))
        return ms_resolve_fail(c, "mfu", "the peak rates of %s are not known", device->name);
    device->mfu = c->draft->mfu;
    return MS_OK;
}

ms_status ms_resolve_times(const ms_resolving *c)
{
    const ms_rates *rates = NULL;
    ms_status status = ms_rates_find(c->arena, c->run->device, &rates, c->err);
    if (status != MS_OK)
        return status;
    ms_device *device = ms_arena_array(c->arena, ms_device, 1);
    if (!device)
        return ms_fail(c->err, MS_ERR_NOMEM, "out of memory for a device");
    *device = *c->run->device;
    device->usd_per_hour = ms_price_of(c->draft->known_prices, device->name);
    if (rates)
        ms_rates_apply(rates, device);
    status = calibrate(c, device);
    if (status == MS_OK)
        status = set_mfu(c, device);
    device->network_bytes_per_s = (double)c->draft->network;
    c->run->device = device;
    return status;
}
