/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "api/backend.h"

#include <string.h>

#include "core/device/device.h"
#include "hardware/replay/backend_host.h"
#include "hardware/replay/cuda/backend_cuda.h"
#include "base/text/values.h"

static ms_status open_cuda(const ms_backend_choice *choice, ms_backend **backend, ms_error *err)
{
    if (choice->capacity)
        return ms_fail(err, MS_ERR_USAGE,
                       "a capacity is given, but a GPU's memory is fixed: only the backend host "
                       "takes a capacity");
    const ms_backend_cuda_options o = {.device = choice->device_index};
    return ms_replay_cuda_open(&o, backend, err);
}

static ms_status open_host(const ms_backend_choice *choice, ms_backend **backend, ms_error *err)
{
    enum { LEAST_CAPACITY = 32 << 20 }; /* a segment, and what a replay takes for itself */
    ms_backend_host_options o = {.skips_data = choice->skips_data, .stop = choice->stop};
    ms_status status = MS_OK;
    if (choice->device_index > 0)
        return ms_fail(err, MS_ERR_USAGE,
                       "device %u was requested, but the backend host has only this machine",
                       (unsigned)choice->device_index);
    if (choice->capacity)
        status =
            ms_value_size("capacity", choice->capacity, LEAST_CAPACITY, &o.capacity_bytes, err);
    return status == MS_OK ? ms_replay_host_open(&o, backend, err) : status;
}

static const struct backend_row {
    const char *name;
    ms_status (*open)(const ms_backend_choice *choice, ms_backend **backend, ms_error *err);
} backends[] = {{"cuda", open_cuda}, {"host", open_host}};
enum { BACKENDS = sizeof backends / sizeof backends[0] };

const char *ms_api_backend_at(size_t index)
{
    return index < BACKENDS ? backends[index].name : NULL;
}

ms_status ms_api_backend_open(const ms_backend_choice *choice, ms_backend **backend,
                              const char **name, ms_error *err)
{
    for (size_t i = 0; i < BACKENDS; i++) {
        if (strcmp(backends[i].name, choice->name) != 0)
            continue;
        *name = backends[i].name;
        return backends[i].open(choice, backend, err);
    }
    return ms_fail(err, MS_ERR_USAGE, "no backend \"%.40s\" (cuda or host)", choice->name);
}

ms_status ms_api_backend_compare(const ms_device *device, const ms_backend_facts *facts,
                                 ms_notes *notes, ms_arena *arena, bool *is_same, ms_error *err)
{
    *is_same = !facts->is_host && ms_device_is_titled(device, facts->title);
    if (facts->is_host || *is_same)
        return MS_OK;
    return ms_note_add(notes, arena, err,
                       "predicted for %s, but this is %s: times and the context are not compared",
                       device->name, facts->title);
}
