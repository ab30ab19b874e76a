/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MS_API_DEVICES_DEVICES_H
#define MS_API_DEVICES_DEVICES_H

#include "base/error.h"

/* ---- device list ---- */

/* The devices of a list: "all", or names separated by commas. */

typedef struct ms_device_list {
    const char **names; /* as the table of devices has them; the one with the least memory first */
    uint32_t count;
} ms_device_list;

#endif
