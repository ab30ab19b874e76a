/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Blocks used by several streams: once released, they wait for an event on each of the other
 * streams before they return to their pool.
 */
#ifndef MS_CORE_ALLOCATOR_WAITING_H
#define MS_CORE_ALLOCATOR_WAITING_H

#include "core/allocator/allocator.h"

/* A stream that uses another stream's block; after the block's release, the event it waits for. */
typedef struct ms_stream_use {
    uint32_t block, stream;
    uint64_t number; /* of the event, in the order in which they were recorded */
} ms_stream_use;

typedef ms_vec(ms_stream_use) ms_stream_uses;

/* Releases a block with recorded streams: it begins to wait. */
void ms_waiting_begin(ms_allocator *allocator, ms_block block);

/* Tensor.record_stream(): a stream other than the block's own uses it. MS_ERR_NOMEM when out of
 * memory. */
ms_status ms_allocator_record(ms_allocator *allocator, ms_block block, uint32_t stream);

/* Completes the oldest pending event of the stream; false when there is none. */
bool ms_allocator_event_done(ms_allocator *allocator, uint32_t stream);

/* The host records its event of that number, from 0 on without gaps, or again. MS_ERR_NOMEM when
 * out of memory. */
ms_status ms_allocator_host_event(ms_allocator *allocator, uint32_t number);
/* The host has waited for its event of that number, or with MS_HOST_WAITS_FOR_ALL for all there is:
 * events recorded before it are complete, which the next allocation sees. */
#define MS_HOST_WAITS_FOR_ALL UINT32_MAX
void ms_allocator_host_waits(ms_allocator *allocator, uint32_t number);
/* What an allocation sees first: of fast devices all events are complete. */
void ms_allocator_poll(ms_allocator *allocator);

/* Completes all pending events, as when the host synchronizes with the device. */
void ms_allocator_events_done(ms_allocator *allocator);

#endif
