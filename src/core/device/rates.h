/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The rates that devices reach: rows of configs/rates.json, built into the program, which
 * scripts/fit_rates.py fits to measured rates.
 */
#ifndef MS_CORE_DEVICE_RATES_H
#define MS_CORE_DEVICE_RATES_H

#include "core/device/device.h"

/* What each is: "figures" of configs/rates.json. Shares are of the rates in configs/devices.json.
 */
typedef enum ms_rate_figure {
    MS_RATE_PRODUCT_SHARE,
    MS_RATE_PRODUCT_TRAFFIC,
    MS_RATE_ATTENTION_FORWARD_SHARE,
    MS_RATE_ATTENTION_BACKWARD_SHARE,
    MS_RATE_ATTENTION_TRAFFIC,
    MS_RATE_MEMORY_SHARE,
    MS_RATE_KERNEL_US,
    MS_RATE_STEP_SHARE,
    MS_RATE_HOST_LINK_SHARE,
    MS_RATE_PAGEABLE_GB_PER_S,
    MS_RATE_COUNT
} ms_rate_figure;
extern const char *const ms_rate_names[]; /* "product_share", ... */

typedef struct ms_rate {
    double value;
    const char *measured; /* "183 products on an A100 PCIe" */
    const char *source;   /* repository, path and commit */
    bool is_own;          /* measured on this device; else on one of its kind, or on any */
} ms_rate;

typedef struct ms_rates {
    ms_rate figures[MS_RATE_COUNT];
} ms_rates;

/* The rates of a device, in the arena: its own, else those of its compute capability, else those of
 * any device. *rates is NULL for the CPU, whose rates nobody measured. */
ms_status ms_rates_find(ms_arena *arena, const ms_device *device, const ms_rates **rates,
                        ms_error *err);

/* Lets the clock use them: the device's link to the host gets the rate that copies reach. */
void ms_rates_apply(const ms_rates *rates, ms_device *device);

#endif
