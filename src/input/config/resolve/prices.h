/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What devices cost, as the user says: a JSON object such as {"h100-80gb": 2.99, "4090": 0.69}, in
 * US dollars per hour of one device.
 */
#ifndef MS_INPUT_CONFIG_RESOLVE_PRICES_H
#define MS_INPUT_CONFIG_RESOLVE_PRICES_H

#include "input/config/resolve/resolving.h"
#include "base/json/value.h"

typedef struct ms_price {
    const char *device; /* its name in the table */
    double usd_per_hour;
} ms_price;

typedef struct ms_prices {
    ms_price *items;
    uint32_t count;
} ms_prices;

/* Reads a file's root. Names are those that `--device` takes; one that is unknown, a device that is
 * named twice and a price that is not above 0 are refused at their place. */
ms_status ms_prices_read(ms_arena *arena, ms_json_value root, ms_prices *prices, ms_error *err);
/* In US dollars per hour; 0 where none is given. */
double ms_price_of(const ms_prices *prices, const char *device);

#endif
