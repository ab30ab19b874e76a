/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Which device of the table a driver speaks of.
 */
#ifndef MS_CORE_DEVICE_TITLE_H
#define MS_CORE_DEVICE_TITLE_H

#include "core/device/device.h"

/* Whether a driver's name for a device can be this one's: it has the model of its title, "A100" of
 * "NVIDIA A100 SXM 80 GB". Models of one name differ in memory. */
bool ms_device_is_titled(const ms_device *device, const char *title);

#endif
