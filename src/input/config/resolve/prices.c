/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/config/resolve/prices.h"

#include <string.h>

#include "input/config/resolve/device_named.h"

enum { MOST_USD_PER_HOUR = 100000 };

typedef struct reading {
    const ms_device *devices;
    uint32_t device_count;
    ms_prices *prices;
    ms_error *err;
} reading;

static ms_status read_price(const reading *r, ms_json_value member)
{
    char hint[MS_DEVICE_HINT_BYTES];
    const char *name = ms_json_key(member);
    const ms_device *device = ms_device_named(r->devices, r->device_count, name, hint);
    ms_price *price = &r->prices->items[r->prices->count];
    if (!device)
        return ms_json_fail(r->err, member, MS_JSON_AT_KEY, MS_ERR_CONFIG,
                            "unknown device '%.40s'%s", name, hint);
    if (ms_price_of(r->prices, device->name) > 0)
        return ms_json_fail(r->err, member, MS_JSON_AT_KEY, MS_ERR_CONFIG, "%s has a price already",
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

double ms_price_of(const ms_prices *prices, const char *device)
{
    for (uint32_t i = 0; prices && i < prices->count; i++)
        if (strcmp(prices->items[i].device, device) == 0)
            return prices->items[i].usd_per_hour;
    return 0;
}
