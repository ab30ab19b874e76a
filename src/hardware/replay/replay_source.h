/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A backend's memory as an allocator's source, which counts what it gives.
 */
#ifndef MS_HARDWARE_REPLAY_REPLAY_SOURCE_H
#define MS_HARDWARE_REPLAY_REPLAY_SOURCE_H

#include "hardware/replay/backend.h"

typedef struct ms_replay_source {
    ms_backend *backend;
    uint64_t reserved_bytes, most_reserved_bytes; /* segments, and pages mapped */
    uint64_t most_used_bytes;                     /* as the driver shows it */
    ms_error failure; /* the latest; one that the allocator recovers from is no failure */
} ms_replay_source;

/* Looks at what the driver shows: libraries, and other programs, take memory at any time. */
ms_status ms_replay_source_look(ms_replay_source *source, ms_error *err);

/* `source` must outlive what takes memory from it. */
ms_memory ms_replay_source_memory(ms_replay_source *source);

#endif
