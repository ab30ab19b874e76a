/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/config/resolve/resolve_times.h"

#include <string.h>

#include "base/json/value.h"
#include "core/device/rates.h"
#include "input/config/resolve/device_named.h"

/* ---- prices ---- */

enum { MOST_USD_PER_HOUR = 100000 };

typedef struct reading {
    const ms_device *devices;
    uint32_t device_count;
    ms_prices *prices;
    ms_error *err;
} reading;

/* In US dollars per hour; 0 where none is given. */
static double price_of(const ms_prices *prices, const char *device)
{
    for (uint32_t i = 0; prices && i < prices->count; i++)
        if (strcmp(prices->items[i].device, device) == 0)
            return prices->items[i].usd_per_hour;
    return 0;
}

static ms_status read_price(const reading *r, ms_json_value member)
{
    char hint[MS_DEVICE_HINT_BYTES];
    const char *name = ms_json_key(member);
    const ms_device *device = ms_device_named(r->devices, r->device_count, name, hint);
    ms_price *price = &r->prices->items[r->prices->count];
    if (!device)
        return ms_json_fail(r->err, member, MS_JSON_AT_KEY, MS_ERR_CONFIG,
                            "unknown device '%.40s'%s", name, hint);
    if (price_of(r->prices, device->name) > 0)
        return ms_json_fail(r->err, member, MS_JSON_AT_KEY, MS_ERR_CONFIG, "%s already has a price",
                            device->name);
    *price = (ms_price){.device = device->name};
    ms_status status =
        ms_json_get_number(member, 0.0001, MOST_USD_PER_HOUR, &price->usd_per_hour, r->err);
    r->prices->count += status == MS_OK;
    return status;
}

ms_status ms_prices_read(ms_arena *arena, ms_json_value root, ms_prices *prices, ms_error *err)
{
    ms_json_value member;
    reading r = {.prices = prices, .err = err};
    *prices = (ms_prices){.count = 0};
    ms_status status = ms_json_expect(root, MS_JSON_OBJECT, err);
    if (status == MS_OK)
        status = ms_devices_load(arena, &r.devices, &r.device_count, err);
    if (status != MS_OK)
        return status;
    prices->items = ms_arena_array(arena, ms_price, ms_json_length(root) + 1);
    if (!prices->items)
        return ms_fail(err, MS_ERR_NOMEM, "out of memory for prices");
    for (bool more = ms_json_first(root, &member); more && status == MS_OK;
         more = ms_json_next(&member))
        status = read_price(&r, member);
    return status;
}

/* ---- resolve times ---- */

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
        return ms_resolve_fail(c, "mfu",
                               "the calibration already has the times of matrix products");
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
    device->usd_per_hour = price_of(c->draft->known_prices, device->name);
    if (rates)
        ms_rates_apply(rates, device);
    status = calibrate(c, device);
    if (status == MS_OK)
        status = set_mfu(c, device);
    device->network_bytes_per_s = (double)c->draft->network;
    c->run->device = device;
    return status;
}
