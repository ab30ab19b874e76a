/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What the times of a run rest on: the rates that its device reaches, a calibration, an MFU.
 */
#ifndef MS_INPUT_CONFIG_RESOLVE_RESOLVE_TIMES_H
#define MS_INPUT_CONFIG_RESOLVE_RESOLVE_TIMES_H

#include "input/config/resolve/resolving.h"

/* Gives the run a copy of its device with them. */
ms_status ms_resolve_times(const ms_resolving *c);

/* ---- prices ---- */

/* What devices cost, as the user says: a JSON object such as {"h100-80gb": 2.99, "4090": 0.69}, in
 * US dollars per hour of one device. */

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

#endif
