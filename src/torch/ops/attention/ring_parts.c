/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "torch/ops/attention/ring_parts.h"

#include "torch/autograd/work.h"
#include "core/trace/build.h"

/* A host has so many devices: beyond, the link is another. */
enum { RANKS_PER_HOST = 8 };

static const ms_state_kind kind = {.bytes = sizeof(ms_ring)};

void ms_ring_begin(ms_tape *tape, uint64_t ranks, uint64_t rank)
{
    ms_ring *ring = ms_hooks_state(tape, &kind);
    if (!ring)
        return;
    const ms_stream row = {.kind = MS_STREAM_COLLECTIVE,
                           .link = ranks <= RANKS_PER_HOST ? MS_LINK_PEER : MS_LINK_NONE,
                           .name = ms_tape_name(tape, "context parallelism")};
    ring->ranks = ranks;
    ring->rank = rank;
    ring->stream = ms_trace_add_stream(tape->trace, row);
    if (ring->stream == MS_NONE)
        ms_tape_fail(tape, MS_ERR_NOMEM);
}

const ms_ring *ms_ring_of(const ms_tape *tape)
{
    return ms_hooks_find_state(tape, &kind);
}

bool ms_ring_is_there(const ms_tape *tape)
{
    return ms_ring_of(tape) != NULL;
}

/* ---- parts ---- */

ms_tensor ms_ring_half(ms_tape *tape, ms_tensor tensor)
{
    const ms_tensor_info info = *ms_info(tape, tensor);
    ms_shape shape = info.shape;
    shape.dims[2] = ms_dim_number(&tape->trace->symbols, shape.dims[2].value / 2);
    return ms_alias(tape, tensor, shape, info.strides);
}

ms_tensor ms_ring_contiguous(ms_tape *tape, ms_tensor tensor)
{
    const ms_tensor_info info = *ms_info(tape, tensor);
    if (ms_is_contiguous(&info))
        return ms_alias(tape, tensor, info.shape, info.strides);
    return ms_empty(tape, info.shape, (ms_dtype)info.dtype);
}

ms_tensor ms_ring_pair(ms_tape *tape, ms_tensor key, uint64_t ranks, ms_dtype dtype)
{
    uint64_t elements = ms_elements(&ms_info(tape, key)->shape);
    return ms_empty_bytes(tape, 2 * ranks * elements * ms_dtype_bytes(dtype), dtype);
}

void ms_ring_enqueue(ms_tape *tape, ms_work_kind work, uint64_t bytes)
{
    ms_work row = ms_work_of(work, bytes);
    row.stream = ms_ring_of(tape)->stream;
    row.group = 0;
    row.ranks = ms_ring_of(tape)->ranks;
    row.scope = tape->scope;
    ms_work_wait(tape, ms_work_begin(tape, row));
}

ms_tensor ms_ring_gather(ms_tape *tape, ms_tensor key)
{
    const ms_ring *ring = ms_ring_of(tape);
    ms_tensor gathered = ms_ring_pair(tape, key, ring->ranks, (ms_dtype)ms_info(tape, key)->dtype);
    ms_ring_enqueue(tape, MS_WORK_ALL_GATHER,
                    ms_tensor_bytes(tape, gathered) / ring->ranks * (ring->ranks - 1));
    return gathered;
}
