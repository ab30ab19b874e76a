/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "api/devices/device_list.h"

#include <stdlib.h>
#include <string.h>

#include "input/config/resolve/device_named.h"

typedef struct choosing {
    const ms_device *devices;
    bool *is_chosen;
    uint32_t count;
} choosing;

static ms_status choose(const choosing *c, const char *name, ms_error *err)
{
    char hint[MS_DEVICE_HINT_BYTES];
    if (strcmp(name, "all") == 0) {
        for (uint32_t i = 0; i < c->count; i++)
            c->is_chosen[i] = c->is_chosen[i] || !c->devices[i].is_cpu;
        return MS_OK;
    }
    const ms_device *found = ms_device_named(c->devices, c->count, name, hint);
    if (!found)
        return ms_fail(err, MS_ERR_CONFIG, "device: unknown device '%.40s'%s", name, hint);
    c->is_chosen[found - c->devices] = true;
    return MS_OK;
}

static ms_status choose_each(const choosing *c, char *rest, ms_error *err)
{
    ms_status status = MS_OK;
    while (rest && status == MS_OK) {
        char *comma = strchr(rest, ',');
        if (comma)
            *comma++ = '\0';
        status = choose(c, rest, err);
        rest = comma;
    }
    return status;
}

static bool take_chosen(const choosing *c, ms_arena *arena, ms_device_list *list)
{
    const ms_device **order = ms_arena_array(arena, const ms_device *, c->count);
    list->names = ms_arena_array(arena, const char *, c->count);
    list->count = 0;
    if (!order || !list->names)
        return false;
    for (uint32_t i = 0; i < c->count; i++)
        if (c->is_chosen[i])
            order[list->count++] = &c->devices[i];
    qsort(order, list->count, sizeof *order, ms_device_by_size);
    for (uint32_t i = 0; i < list->count; i++)
        list->names[i] = order[i]->name;
    return true;
}

ms_status ms_device_list_read(ms_arena *arena, const char *text, ms_device_list *list,
                              ms_error *err)
{
    choosing c = {.count = 0};
    ms_status status = ms_devices_load(arena, &c.devices, &c.count, err);
    if (status != MS_OK)
        return status;
    char *copy = ms_arena_strdup(arena, text);
    c.is_chosen = ms_arena_array(arena, bool, c.count);
    if (!copy || !c.is_chosen)
        return ms_fail(err, MS_ERR_NOMEM, "no memory for devices");
    status = choose_each(&c, copy, err);
    if (status == MS_OK && !take_chosen(&c, arena, list))
        status = ms_fail(err, MS_ERR_NOMEM, "no memory for devices");
    return status;
}
