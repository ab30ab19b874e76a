/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Building a trace: the only functions that write its tables. Each that adds a row yields its
 * number, or MS_NONE when out of memory.
 */
#ifndef MS_TRACE_BUILD_H
#define MS_TRACE_BUILD_H

#include "trace/trace.h"

/* False when out of memory. */
static inline bool ms_trace_add_event(ms_trace *trace, ms_event_kind kind, uint32_t id)
{
    return ms_vec_push(&trace->events, (ms_event){kind, id});
}

/* The row alone: what allocates it is an event. */
static inline uint32_t ms_trace_add_storage(ms_trace *trace, const ms_storage *storage)
{
    return ms_vec_push(&trace->storages, *storage) ? trace->storages.count - 1 : MS_NONE;
}

/* What a storage is called, and the module it belongs to. */
void ms_trace_label(ms_trace *trace, uint32_t storage, uint32_t name, uint32_t scope);
/* `storage` holds what `earlier` held. */
void ms_trace_identify(ms_trace *trace, uint32_t storage, uint32_t earlier);
void ms_trace_categorize(ms_trace *trace, uint32_t storage, ms_category category);
/* It outlives its operator for backward: what was a temporary is an activation. */
void ms_trace_hold(ms_trace *trace, uint32_t storage);
/* The same of what autograd's hooks see. */
void ms_trace_save(ms_trace *trace, uint32_t storage);

/* The text is copied. */
uint32_t ms_trace_add_name(ms_trace *trace, const char *text);
/* Without a layer of its own it has its parent's. */
uint32_t ms_trace_add_scope(ms_trace *trace, ms_scope scope);
/* With its event. */
uint32_t ms_trace_add_mark(ms_trace *trace, ms_mark mark);

/* An operator begins: with its event; its operands and what it computes follow before its end. */
uint32_t ms_trace_begin_op(ms_trace *trace, ms_op_exec op);
/* A tensor of the running operator, which is the last; its bytes count as traffic. */
bool ms_trace_add_operand(ms_trace *trace, uint32_t op, ms_operand operand);
void ms_trace_add_cost(ms_trace *trace, uint32_t op, double flops, double traffic_bytes,
                       ms_dtype dtype);

uint32_t ms_trace_add_stream(ms_trace *trace, ms_stream stream);
/* Each with its event: a stream is given work; waits for work; uses another stream's storage. */
uint32_t ms_trace_add_work(ms_trace *trace, ms_work work);
uint32_t ms_trace_add_wait(ms_trace *trace, uint32_t stream, uint32_t work);
uint32_t ms_trace_add_use(ms_trace *trace, uint32_t storage, uint32_t stream);

/* A matrix product that the running operator computes. */
bool ms_trace_add_product(ms_trace *trace, uint32_t op, ms_gemm product);

/* Room for so many rows more, on top of none. False when out of memory. */
typedef struct ms_trace_room {
    uint64_t events, storages, ops, operands;
} ms_trace_room;
bool ms_trace_expect(ms_trace *trace, ms_trace_room room);

#endif
