/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/trace/build.h"

#include "base/arena.h"

/* ---- storages ---- */

void ms_trace_label(ms_trace *trace, uint32_t storage, uint32_t name, uint32_t scope)
{
    trace->storages.items[storage].name = name;
    trace->storages.items[storage].scope = scope;
}

void ms_trace_identify(ms_trace *trace, uint32_t storage, uint32_t earlier)
{
    uint32_t first = trace->storages.items[earlier].same_as;
    trace->storages.items[storage].same_as = first == MS_NONE ? earlier : first;
}

void ms_trace_resize(ms_trace *trace, uint32_t storage, uint64_t bytes)
{
    trace->storages.items[storage].bytes = bytes;
}

void ms_trace_categorize(ms_trace *trace, uint32_t storage, ms_category category)
{
    trace->storages.items[storage].category = (uint8_t)category;
}

void ms_trace_hold(ms_trace *trace, uint32_t storage)
{
    ms_storage *row = &trace->storages.items[storage];
    if (row->category == MS_CATEGORY_TEMPORARY)
        row->category = MS_CATEGORY_ACTIVATION;
}

void ms_trace_clear_events(ms_trace *trace)
{
    trace->events.count = 0;
    trace->marks.count = 0;
}

void ms_trace_renew_storage(ms_trace *trace, uint32_t index, const ms_storage *storage)
{
    trace->storages.items[index] = *storage;
}

void ms_trace_keep(ms_trace *trace, uint32_t storage)
{
    trace->storages.items[storage].is_cached = true;
}

void ms_trace_save(ms_trace *trace, uint32_t storage)
{
    trace->storages.items[storage].saved = true;
    ms_trace_hold(trace, storage);
}

/* ---- names, modules, marks ---- */

uint32_t ms_trace_add_name(ms_trace *trace, const char *text)
{
    const char *copy = ms_arena_strdup(trace->names_arena, text);
    return copy && ms_vec_push(&trace->names, copy) ? trace->names.count - 1 : MS_NONE;
}

uint32_t ms_trace_add_scope(ms_trace *trace, ms_scope scope)
{
    if (scope.layer == MS_NONE && scope.parent != MS_NONE)
        scope.layer = trace->scopes.items[scope.parent].layer;
    return ms_vec_push(&trace->scopes, scope) ? trace->scopes.count - 1 : MS_NONE;
}

uint32_t ms_trace_add_mark(ms_trace *trace, ms_mark mark)
{
    uint32_t index = trace->marks.count;
    bool ok = ms_vec_push(&trace->marks, mark) && ms_trace_add_event(trace, MS_EVENT_MARK, index);
    return ok ? index : MS_NONE;
}

/* ---- streams ---- */

uint32_t ms_trace_add_stream(ms_trace *trace, ms_stream stream)
{
    return ms_vec_push(&trace->streams, stream) ? trace->streams.count - 1 : MS_NONE;
}

uint32_t ms_trace_add_work(ms_trace *trace, ms_work work)
{
    uint32_t index = trace->works.count;
    bool ok = ms_vec_push(&trace->works, work) && ms_trace_add_event(trace, MS_EVENT_WORK, index);
    return ok ? index : MS_NONE;
}

uint32_t ms_trace_add_wait(ms_trace *trace, uint32_t stream, uint32_t work)
{
    uint32_t index = trace->waits.count;
    bool ok = ms_vec_push(&trace->waits, (ms_wait){stream, work}) &&
              ms_trace_add_event(trace, MS_EVENT_WAIT, index);
    return ok ? index : MS_NONE;
}

uint32_t ms_trace_add_use(ms_trace *trace, uint32_t storage, uint32_t stream)
{
    uint32_t index = trace->uses.count;
    bool ok = ms_vec_push(&trace->uses, (ms_use){storage, stream}) &&
              ms_trace_add_event(trace, MS_EVENT_RECORD, index);
    return ok ? index : MS_NONE;
}

/* ---- operators ---- */

uint32_t ms_trace_begin_op(ms_trace *trace, ms_op_exec op)
{
    uint32_t index = trace->ops.count;
    op.first_operand = trace->operands.count;
    op.first_product = trace->products.count;
    bool ok = ms_vec_push(&trace->ops, op) && ms_trace_add_event(trace, MS_EVENT_OP_BEGIN, index);
    return ok ? index : MS_NONE;
}

bool ms_trace_add_operand(ms_trace *trace, uint32_t op, ms_operand operand)
{
    uint64_t bytes = ms_dtype_bytes((ms_dtype)operand.dtype);
    for (uint32_t i = 0; i < operand.rank; i++)
        bytes *= operand.sizes[i];
    if (!ms_vec_push(&trace->operands, operand))
        return false;
    trace->ops.items[op].operand_count++;
    trace->ops.items[op].traffic_bytes += bytes;
    return true;
}

bool ms_trace_add_product(ms_trace *trace, uint32_t op, ms_gemm product)
{
    if (!ms_vec_push(&trace->products, product))
        return false;
    trace->ops.items[op].product_count++;
    return true;
}

static uint64_t whole(double amount)
{
    return amount < 1.8e19 ? (uint64_t)amount : UINT64_MAX;
}

void ms_trace_add_cost(ms_trace *trace, uint32_t op, double flops, double traffic_bytes,
                       ms_dtype dtype)
{
    ms_op_exec *exec = &trace->ops.items[op];
    exec->flops += whole(flops);
    exec->traffic_bytes += whole(traffic_bytes);
    exec->matmul_dtype = (uint8_t)dtype;
}

bool ms_trace_expect(ms_trace *trace, ms_trace_room room)
{
    return ms_vec_expect(&trace->events, room.events) &&
           ms_vec_expect(&trace->storages, room.storages) && ms_vec_expect(&trace->ops, room.ops) &&
           ms_vec_expect(&trace->operands, room.operands);
}
