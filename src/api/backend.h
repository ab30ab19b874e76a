/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Backends by name, for calls that run something on a device.
 */
#ifndef MS_API_BACKEND_H
#define MS_API_BACKEND_H

#include "base/deadline.h"
#include "input/config/model/notes.h"
#include "core/device/device.h"
#include "hardware/replay/backend.h"

typedef struct ms_backend_choice {
    const char *name;      /* "cuda", or "host" */
    uint32_t device_index; /* of CUDA's devices; 0 with "host" */
    const char *capacity;  /* of the host as a device; or NULL */
    bool skips_data;       /* the host moves none */
    const ms_stop *stop;
} ms_backend_choice;

/* MS_ERR_USAGE: there is no such backend, or it has no such option; others as the backends' own
 * functions. `*name` is static text. */
ms_status ms_api_backend_open(const ms_backend_choice *choice, ms_backend **backend,
                              const char **name, ms_error *err);
const char *ms_api_backend_at(size_t index); /* NULL past the last */

/* Whether the run's device is the one that the figures come from, by CUDA's name for it. A note
 * says that it is another. */
ms_status ms_api_backend_compare(const ms_device *device, const ms_backend_facts *facts,
                                 ms_notes *notes, ms_arena *arena, bool *is_same, ms_error *err);

#endif
