/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Devices by the names that people write: "rtx-4090", "4090", "NVIDIA GeForce RTX 4090".
 */
#ifndef MS_INPUT_CONFIG_RESOLVE_DEVICE_NAMED_H
#define MS_INPUT_CONFIG_RESOLVE_DEVICE_NAMED_H

#include <stddef.h>

#include "core/device/device.h"

enum { MS_DEVICE_HINT_BYTES = 160 };

/* The device of that name, or the only one with those parts in its name ("4090"; "a100" are several
 * and "l40" is not "l40s"); else NULL, and the rest of the sentence "unknown device 'a100'" in
 * `hint`. */
const ms_device *ms_device_named(const ms_device *devices, uint32_t count, const char *name,
                                 char hint[MS_DEVICE_HINT_BYTES]);

#endif
