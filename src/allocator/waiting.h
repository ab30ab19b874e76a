/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Blocks that other streams use: released, they wait for an event on each of these streams before
 * their pool has them again.
 */
#ifndef MS_ALLOCATOR_WAITING_H
#define MS_ALLOCATOR_WAITING_H

#include "allocator/allocator.h"

/* A stream that uses a block of another one; once that is released, the event it waits for. */
typedef struct ms_stream_use {
    uint32_t block, stream;
} ms_stream_use;

typedef ms_vec(ms_stream_use) ms_stream_uses;

/* A block that has recorded streams is released: it waits. */
void ms_waiting_begin(ms_allocator *allocator, ms_block block);

/* Tensor.record_stream(): another stream than the block's own uses it. MS_ERR_NOMEM when out of
 * memory. */
ms_status ms_allocator_record(ms_allocator *allocator, ms_block block, uint32_t stream);

/* The oldest event on the stream that a block waits for has passed; false when there is none. */
bool ms_allocator_event_done(ms_allocator *allocator, uint32_t stream);

/* All have, as when the host waits for the device. */
void ms_allocator_events_done(ms_allocator *allocator);

#endif
