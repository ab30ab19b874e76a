/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The devices of a list: "all", or names separated by commas.
 */
#ifndef MS_API_DEVICES_DEVICE_LIST_H
#define MS_API_DEVICES_DEVICE_LIST_H

#include "base/arena.h"
#include "base/error.h"

typedef struct ms_device_list {
    const char **names; /* as the table of devices has them; the one with the least memory first */
    uint32_t count;
} ms_device_list;

/* "all" leaves the cpu out. A device that is named twice is there once. Refuses what is unknown. */
ms_status ms_device_list_read(ms_arena *arena, const char *text, ms_device_list *list,
                              ms_error *err);

#endif
