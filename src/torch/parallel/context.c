/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "torch/parallel/context.h"

#include "torch/parallel/parallel.h"
#include "torch/parallel/kit/kinds.h"
#include "core/trace/build.h"

enum { BUFFERS = 3 }; /* tokens, labels and positions */

typedef struct context {
    ms_shape whole, part;
    ms_tensor ids, positions; /* of whole sequences */
    /* in a micro-step; all are retained */
    ms_tensor labels, own_positions; /* as large as whole sequences, and cut in place */
    ms_tensor kept_ids;              /* a copy, from which they are restored */
    ms_tensor shards[BUFFERS];
    ms_tensor copy; /* of the last shard */
    ms_context_parts parts;
} context;

static const ms_state_kind kind = {.bytes = sizeof(context)};

static ms_tensor make(ms_tape *tape, const ms_shape *shape)
{
    ms_tensor tensor = ms_empty(tape, *shape, MS_DTYPE_I64);
    ms_retain(tape, tensor);
    return tensor;
}

static ms_tensor view_part(ms_tape *tape, const context *c, ms_tensor whole)
{
    const uint64_t strides[MS_MAX_RANK] = {c->part.dims[1].value, 1};
    ms_tensor view = ms_alias(tape, whole, c->part, strides);
    ms_retain(tape, view);
    return view;
}

void ms_context_build(ms_tape *tape, ms_shape part)
{
    const ms_parallel *parallel = ms_parallel_of(tape);
    uint64_t ranks = parallel ? parallel->layout.context : 1;
    context *c = ranks > 1 ? ms_hooks_state(tape, &kind) : NULL;
    if (!c)
        return;
    c->part = c->whole = part;
    c->whole.dims[1] = ms_dim_number(&tape->trace->symbols, part.dims[1].value * ranks);
    ms_tensor range = ms_empty(tape, MS_SHAPE(c->whole.dims[1]), MS_DTYPE_I64);
    c->positions = make(tape, &c->whole);
    ms_consume(tape, range);
    ms_name_storage(tape, c->positions, "position_ids", MS_CATEGORY_INPUT);
    c->ids = make(tape, &c->whole);
    ms_name_storage(tape, c->ids, "input_ids", MS_CATEGORY_INPUT);
}

ms_context_parts ms_context_enter(ms_tape *tape)
{
    context *c = ms_hooks_find_state(tape, &kind);
    if (!c || ms_idle(tape))
        return (ms_context_parts){0};
    uint8_t category = tape->new_category;
    tape->new_category = MS_CATEGORY_INPUT;
    c->labels = make(tape, &c->whole);
    c->own_positions = make(tape, &c->whole);
    c->kept_ids = make(tape, &c->whole);
    ms_tensor order = ms_empty(tape, MS_SHAPE(c->whole.dims[1]), MS_DTYPE_I32);
    for (int i = 0; i < BUFFERS; i++) {
        ms_tensor ordered = ms_empty(tape, c->whole, MS_DTYPE_I64);
        c->shards[i] = make(tape, &c->part);
        ms_consume(tape, ordered);
    }
    ms_consume(tape, order);
    for (int i = 0; i < BUFFERS; i++) {
        ms_release(tape, c->copy);
        c->copy = make(tape, &c->part);
    }
    c->parts.ids = view_part(tape, c, c->ids);
    c->parts.positions = view_part(tape, c, c->own_positions);
    tape->new_category = category;
    return c->parts;
}

void ms_context_leave(ms_tape *tape)
{
    context *c = ms_hooks_find_state(tape, &kind);
    if (!c)
        return;
    const ms_tensor last_first[] = {c->parts.ids, c->parts.positions, c->kept_ids,
                                    c->shards[2], c->shards[1],       c->shards[0],
                                    c->copy,      c->labels,          c->own_positions};
    for (size_t i = 0; i < sizeof last_first / sizeof *last_first; i++)
        ms_release(tape, last_first[i]);
    c->copy = 0;
    c->parts = (ms_context_parts){0};
}
