/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The host's copies of offloaded tensors, in buffers that are kept and used again. A copy to the
 * host takes the smallest free buffer that is large enough and at most a quarter larger, else a new
 * one, in whole pages, for which free ones are given back first; it is free again where the
 * operators' stream waits for the copy back. So what is copied into it next, which is given later,
 * cannot overtake.
 */
#ifndef MS_HARDWARE_REPLAY_HOST_COPIES_H
#define MS_HARDWARE_REPLAY_HOST_COPIES_H

#include "base/vec.h"
#include "hardware/replay/backend.h"
#include "core/trace/trace.h"

typedef struct ms_host_buffer {
    void *memory; /* NULL without a backend */
    uint64_t bytes;
    uint32_t storage;   /* whose copy it has; MS_NONE: it is free */
    uint32_t out, back; /* works that fill and read it; MS_NONE: not yet */
} ms_host_buffer;

typedef struct ms_host_copies {
    const ms_trace *trace;
    ms_backend *backend; /* NULL: buffers are only counted */
    uint32_t *comings;   /* per storage: copies back that are to come */
    ms_vec(ms_host_buffer) buffers;
    uint64_t bytes, most_bytes; /* of all buffers: now, at most */
} ms_host_copies;

/* Call ms_host_copies_close also when it fails, and once no stream uses the buffers. */
ms_status ms_host_copies_open(ms_host_copies *copies, const ms_trace *trace, ms_backend *backend,
                              ms_error *err);
void ms_host_copies_close(ms_host_copies *copies);

/* Whether the work fills or reads a buffer; constant. */
bool ms_host_copies_has(const ms_host_copies *copies, const ms_work *work);

/* The trace gives a work, and waits for one. */
ms_status ms_host_copies_begin(ms_host_copies *copies, uint32_t work, ms_error *err);
void ms_host_copies_wait(ms_host_copies *copies, uint32_t work);

/* Of a work that was begun; NULL: none. */
void *ms_host_copies_memory(const ms_host_copies *copies, uint32_t work);

/* The bytes of all buffers at most, while the trace is played. */
ms_status ms_host_copies_count(const ms_trace *trace, uint64_t *bytes, ms_error *err);

#endif
