/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Building a trace: the only functions that write its tables. Functions that add a row return its
 * index, or MS_NONE when out of memory.
 */
#ifndef MS_CORE_TRACE_BUILD_H
#define MS_CORE_TRACE_BUILD_H

#include "core/trace/trace.h"

/* False when out of memory. */
static inline bool ms_trace_add_event(ms_trace *trace, ms_event_kind kind, uint32_t id)
{
    return ms_vec_push(&trace->events, (ms_event){kind, id});
}

/* Events and marks so far are no more. */
void ms_trace_clear_events(ms_trace *trace);
/* Another storage takes the row of one that was freed before the events that are left. */
void ms_trace_renew_storage(ms_trace *trace, uint32_t index, const ms_storage *storage);
/* Adds the row only; an MS_EVENT_ALLOC event allocates it. */
static inline uint32_t ms_trace_add_storage(ms_trace *trace, const ms_storage *storage)
{
    return ms_vec_push(&trace->storages, *storage) ? trace->storages.count - 1 : MS_NONE;
}

/* Sets the name of a storage and the module it belongs to. */
void ms_trace_label(ms_trace *trace, uint32_t storage, uint32_t name, uint32_t scope);
/* `storage` has the same content as `earlier` (ms_storage.same_as). */
void ms_trace_identify(ms_trace *trace, uint32_t storage, uint32_t earlier);
/* A storage that is not allocated yet has so many bytes, as with padding. */
void ms_trace_resize(ms_trace *trace, uint32_t storage, uint64_t bytes);
void ms_trace_categorize(ms_trace *trace, uint32_t storage, ms_category category);
/* It holds keys or values of a cache. */
void ms_trace_keep(ms_trace *trace, uint32_t storage);
/* The storage is kept for backward: a temporary becomes an activation. */
void ms_trace_hold(ms_trace *trace, uint32_t storage);
/* The same for a saved tensor, which autograd's hooks see. */
void ms_trace_save(ms_trace *trace, uint32_t storage);

/* The text is copied. */
uint32_t ms_trace_add_name(ms_trace *trace, const char *text);
/* A scope without a layer inherits its parent's. */
uint32_t ms_trace_add_scope(ms_trace *trace, ms_scope scope);
/* Also adds its event. */
uint32_t ms_trace_add_mark(ms_trace *trace, ms_mark mark);

/* Begins an operator and adds its event; its operands, costs and products follow before its end. */
uint32_t ms_trace_begin_op(ms_trace *trace, ms_op_exec op);
/* Adds a tensor of the running operator, the last one; its bytes count as traffic. */
bool ms_trace_add_operand(ms_trace *trace, uint32_t op, ms_operand operand);
/* The bytes of a tensor alone. */
static inline void ms_trace_add_traffic(ms_trace *trace, uint32_t op, uint64_t bytes)
{
    trace->ops.items[op].traffic_bytes += bytes;
}
void ms_trace_add_cost(ms_trace *trace, uint32_t op, double flops, double traffic_bytes,
                       ms_dtype dtype);

uint32_t ms_trace_add_stream(ms_trace *trace, ms_stream stream);
/* Each also adds its event: a stream receives work; waits for work; uses another stream's storage.
 */
uint32_t ms_trace_add_work(ms_trace *trace, ms_work work);
uint32_t ms_trace_add_wait(ms_trace *trace, uint32_t stream, uint32_t work);
uint32_t ms_trace_add_use(ms_trace *trace, uint32_t storage, uint32_t stream);

/* Adds a matrix product of the running operator. */
bool ms_trace_add_product(ms_trace *trace, uint32_t op, ms_gemm product);

/* Reserves rows in an empty trace. False when out of memory. */
typedef struct ms_trace_room {
    uint64_t events, storages, ops, operands;
} ms_trace_room;
bool ms_trace_expect(ms_trace *trace, ms_trace_room room);

#endif
