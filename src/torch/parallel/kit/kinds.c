/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "torch/parallel/kit/kinds.h"

#include "core/trace/build.h"

/* A host has so many devices: beyond, the link is another. */
enum { RANKS_PER_HOST = 8 };

typedef struct state {
    const ms_parallel *parallel;
} state;

static const ms_state_kind kind = {.bytes = sizeof(state)};

bool ms_parallel_set(ms_tape *tape, const ms_parallel *parallel)
{
    state *s = ms_hooks_state(tape, &kind);
    if (s)
        s->parallel = parallel;
    return s != NULL;
}

const ms_parallel *ms_parallel_of(const ms_tape *tape)
{
    const state *s = ms_hooks_find_state(tape, &kind);
    return s ? s->parallel : NULL;
}

void ms_parallel_leave_device(ms_tape *tape, ms_tensor parameter)
{
    const ms_shape shape = ms_info(tape, parameter)->shape;
    const ms_storage whole = tape->trace->storages.items[ms_info(tape, parameter)->storage];
    tape->is_meta = true;
    ms_tensor gone = ms_empty(tape, shape, ms_parallel_of(tape)->param_dtype);
    if (gone) {
        uint32_t storage = ms_info(tape, gone)->storage;
        ms_trace_label(tape->trace, storage, whole.name, whole.scope);
        ms_trace_categorize(tape->trace, storage, MS_CATEGORY_WEIGHT);
        ms_storage_empty(tape, gone);
        ms_storage_swap(tape, parameter, gone);
    }
    tape->is_meta = false;
    ms_consume(tape, gone);
}

uint32_t ms_collective_stream(ms_tape *tape, const char *name, uint64_t span, uint64_t ranks)
{
    const ms_stream row = {.kind = MS_STREAM_COLLECTIVE,
                           .link = span <= RANKS_PER_HOST ? MS_LINK_PEER : MS_LINK_NONE,
                           .name = ms_tape_name(tape, name),
                           .ranks = ranks};
    uint32_t stream = ms_trace_add_stream(tape->trace, row);
    if (stream == MS_NONE)
        ms_tape_fail(tape, MS_ERR_NOMEM);
    return stream == MS_NONE ? 0 : stream;
}

uint32_t ms_collective_of(ms_tape *tape, uint32_t scope, uint64_t ranks, ms_work_kind work,
                          uint32_t stream, uint64_t bytes)
{
    ms_work row = ms_work_of(work, bytes);
    row.stream = stream;
    row.group = 0;
    row.ranks = ranks;
    row.scope = scope;
    return ms_work_begin(tape, row);
}

uint32_t ms_collective(ms_tape *tape, ms_work_kind work, uint32_t stream, uint64_t bytes)
{
    uint64_t ranks = tape->trace->streams.items[stream].ranks;
    return ms_collective_of(tape, MS_NONE, ranks, work, stream, bytes);
}
