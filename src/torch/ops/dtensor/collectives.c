/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Functional collectives: the result is allocated from the pool of the operators' stream. What a
 * collective sends lives until somebody waits for the result.
 */
#include "torch/ops/dtensor/dtensor.h"

#include "torch/autograd/work.h"
#include "core/trace/build.h"

/* A host has so many devices: beyond, the link is another. */
enum { RANKS_PER_HOST = 8 };

typedef struct mesh {
    uint64_t ranks;
    uint32_t stream;
    ms_tensor sent;    /* lives until its result is waited for; 0: none */
    ms_mesh_wait wait; /* of `sent` */
} mesh;

static const ms_state_kind kind = {.bytes = sizeof(mesh)};

void ms_mesh_wait_for(ms_tape *tape)
{
    mesh *m = ms_hooks_find_state(tape, &kind);
    if (!m || !m->sent)
        return;
    ms_tensor sent = m->sent;
    m->sent = 0;
    ms_release(tape, sent);
}

static void operator_begins(ms_tape *tape, void *context, uint32_t number, const ms_op *op)
{
    const mesh *m = context;
    (void)number;
    (void)op;
    if (m->sent && m->wait == MS_WAITS_FOR_OPERATOR)
        ms_mesh_wait_for(tape);
}

void ms_mesh_begin(ms_tape *tape, uint64_t ranks)
{
    mesh *m = ms_hooks_state(tape, &kind);
    if (!m)
        return;
    m->ranks = ranks;
    const ms_stream row = {.kind = MS_STREAM_COLLECTIVE,
                           .link = ranks <= RANKS_PER_HOST ? MS_LINK_PEER : MS_LINK_NONE,
                           .name = ms_tape_name(tape, "tensor parallelism")};
    m->stream = ms_trace_add_stream(tape->trace, row);
    if (m->stream == MS_NONE)
        ms_tape_fail(tape, MS_ERR_NOMEM);
    ms_hooks_push_op(tape, (ms_op_hooks){.begin = operator_begins, .context = m});
}

uint64_t ms_mesh_ranks(const ms_tape *tape)
{
    const mesh *m = ms_hooks_find_state(tape, &kind);
    return m ? m->ranks : 1;
}

/* Enqueues the collective, for which the operators wait: they use its result next. */
static void enqueue(ms_tape *tape, ms_work_kind work, uint64_t bytes)
{
    const mesh *m = ms_hooks_find_state(tape, &kind);
    if (ms_idle(tape))
        return;
    ms_work row = ms_work_of(work, bytes);
    row.stream = m->stream;
    row.group = 0;
    row.ranks = m->ranks;
    row.scope = tape->scope;
    ms_work_wait(tape, ms_work_begin(tape, row));
}

static uint64_t exchanged(ms_tape *tape, ms_tensor whole)
{
    uint64_t ranks = ms_mesh_ranks(tape);
    return ms_idle(tape) || !whole ? 0 : ms_tensor_bytes(tape, whole) / ranks * (ranks - 1);
}

static ms_shape scaled(ms_tape *tape, ms_tensor tensor, uint32_t dim, bool up)
{
    ms_shape shape = ms_info(tape, tensor)->shape;
    uint64_t ranks = ms_mesh_ranks(tape), size = shape.dims[dim].value;
    shape.dims[dim] = ms_dim_number(&tape->trace->symbols, up ? size * ranks : size / ranks);
    return shape;
}

ms_tensor ms_mesh_all_reduce(ms_tape *tape, ms_tensor tensor)
{
    if (ms_idle(tape) || !tensor)
        return 0;
    ms_tensor out =
        ms_empty(tape, ms_info(tape, tensor)->shape, (ms_dtype)ms_info(tape, tensor)->dtype);
    enqueue(tape, MS_WORK_ALL_REDUCE, 2 * exchanged(tape, tensor));
    ms_consume(tape, tensor);
    return out;
}

/* Dimensions before `dim` are 1. */
static bool leads(const ms_shape *shape, uint32_t dim)
{
    for (uint32_t i = 0; i < dim; i++)
        if (shape->dims[i].value != 1)
            return false;
    return true;
}

ms_tensor ms_mesh_all_gather(ms_tape *tape, ms_tensor tensor, uint32_t dim)
{
    if (ms_idle(tape) || !tensor)
        return 0;
    const ms_shape shape = scaled(tape, tensor, dim, true);
    ms_dtype dtype = (ms_dtype)ms_info(tape, tensor)->dtype;
    ms_tensor out = ms_empty(tape, shape, dtype);
    enqueue(tape, MS_WORK_ALL_GATHER, exchanged(tape, out));
    if (!leads(&shape, dim)) {
        ms_tensor joined = ms_empty(tape, shape, dtype);
        ms_consume(tape, out);
        out = joined;
    }
    ms_consume(tape, tensor);
    return out;
}

ms_tensor ms_mesh_reduce_scatter(ms_tape *tape, ms_tensor tensor, uint32_t dim, ms_mesh_wait wait)
{
    if (ms_idle(tape) || !tensor)
        return 0;
    const ms_shape whole = ms_info(tape, tensor)->shape, part = scaled(tape, tensor, dim, false);
    ms_dtype dtype = (ms_dtype)ms_info(tape, tensor)->dtype;
    mesh *m = ms_hooks_find_state(tape, &kind);
    ms_mesh_wait_for(tape);
    m->sent = ms_empty(tape, whole, dtype); /* its parts, joined along the first dimension */
    ms_retain(tape, m->sent);
    m->wait = wait;
    ms_tensor out = ms_empty(tape, part, dtype);
    enqueue(tape, MS_WORK_REDUCE_SCATTER, exchanged(tape, tensor));
    if (wait == MS_WAITS_NOW)
        ms_mesh_wait_for(tape);
    ms_consume(tape, tensor);
    return out;
}
