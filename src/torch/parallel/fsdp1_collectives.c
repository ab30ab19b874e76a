/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Collectives of a unit. A flat parameter and its gradient come from the pool of the all-gathers'
 * stream: the operator that divides it into parameters runs there, and so does its backward. What
 * is reduced comes from the pool of the reduce-scatters' stream. Memory that another stream has
 * used is recorded there, and comes back when that stream is done.
 */
#include "torch/parallel/fsdp1.h"

#include "core/trace/build.h"

ms_tensor ms_fsdp1_buffer(ms_tape *tape, const ms_fsdp1_unit *unit, uint64_t elements,
                          ms_dtype dtype, uint32_t stream)
{
    uint32_t previous = ms_scope_enter(tape, unit->scope), of_tape = tape->stream;
    tape->stream = stream;
    ms_tensor tensor = ms_empty_bytes(tape, elements * ms_dtype_bytes(dtype), dtype);
    tape->stream = of_tape;
    tape->scope = previous;
    return tensor;
}

/* Tensor.record_stream. */
static void record(ms_tape *tape, ms_tensor tensor, uint32_t stream)
{
    if (ms_idle(tape) || !tensor)
        return;
    uint32_t storage = ms_info(tape, tensor)->storage;
    if (tape->trace->storages.items[storage].bytes &&
        ms_trace_add_use(tape->trace, storage, stream) == MS_NONE)
        ms_tape_fail(tape, MS_ERR_NOMEM);
}

/* What leaves a rank for the others, and what comes from them, in a group of so many. */
static uint64_t exchanged(uint64_t bytes, uint64_t ranks)
{
    return bytes / ranks * (ranks - 1);
}

/* ---- all-gather ---- */

/* The rate limiter: with two flat parameters freed, the host waits until the device has come to
 * where the first of them was. */
static void limit(ms_tape *tape, ms_fsdp1 *all)
{
    enum { MOST_IN_FLIGHT = 2 };
    if (all->parallel->limits_all_gathers && tape->host_events - all->first_free >= MOST_IN_FLIGHT)
        ms_host_waits_for(tape, all->first_free++);
}

void ms_fsdp1_unshard(ms_tape *tape, ms_fsdp1 *all, ms_fsdp1_unit *unit)
{
    if (!unit->count || ms_idle(tape))
        return;
    const ms_parallel *parallel = all->parallel;
    ms_tensor cast = 0;
    if (!unit->is_unsharded && parallel->param_dtype != parallel->shard_dtype) {
        cast = ms_fsdp1_buffer(tape, unit, unit->part, parallel->param_dtype, all->cast_stream);
        ms_name_storage(tape, cast, "all-gather input", MS_CATEGORY_TEMPORARY);
    }
    limit(tape, all);
    if (unit->is_unsharded)
        return;
    tape->stream = all->gather_stream;
    ms_storage_refill(tape, unit->gathered);
    tape->stream = MS_STREAM_OPERATORS;
    if (!ms_idle(tape)) {
        uint64_t bytes = exchanged(ms_tensor_bytes(tape, unit->gathered), parallel->layout.shards);
        ms_work_wait(tape, ms_collective_of(tape, unit->scope, parallel->layout.shards,
                                            MS_WORK_ALL_GATHER, all->gather_stream, bytes));
    }
    record(tape, cast, all->gather_stream);
    ms_consume(tape, cast);
    unit->is_unsharded = true;
}

void ms_fsdp1_reshard(ms_tape *tape, ms_fsdp1 *all, ms_fsdp1_unit *unit, uint32_t stream)
{
    unit->is_prefetched = false;
    if (!unit->is_unsharded || ms_idle(tape))
        return;
    record(tape, unit->gathered, stream);
    ms_storage_empty(tape, unit->gathered);
    unit->is_unsharded = false;
    if (all->parallel->limits_all_gathers)
        (void)ms_host_event(tape);
}

/* ---- gradients ---- */

static ms_tensor take(ms_tensor *slot)
{
    ms_tensor tensor = *slot;
    *slot = 0;
    return tensor;
}

/* Zeros for what has no gradient: paddings, and parameters that were not used. */
static ms_tensor zeros(ms_tape *tape, const ms_fsdp1 *all, const ms_fsdp1_unit *unit,
                       uint64_t elements)
{
    if (elements == 0)
        return 0;
    ms_tensor tensor =
        ms_fsdp1_buffer(tape, unit, elements, all->parallel->param_dtype, all->gather_stream);
    ms_retain(tape, tensor);
    return tensor;
}

static bool has_gradient(ms_tape *tape, const ms_fsdp1 *all, const ms_fsdp1_unit *unit)
{
    for (uint32_t i = 0; i < unit->count; i++)
        if (tape->parameters.items[ms_fsdp1_parameter_of(all, unit, i)->index].grad)
            return true;
    return false;
}

/* The backward of torch.split: the pieces, whose streams are others, are concatenated. */
static ms_tensor concatenate(ms_tape *tape, const ms_fsdp1 *all, const ms_fsdp1_unit *unit,
                             ms_tensor *pieces)
{
    for (uint32_t i = 0; i < unit->count; i++) {
        const ms_fsdp1_parameter *row = ms_fsdp1_parameter_of(all, unit, i);
        pieces[2 * i] = zeros(tape, all, unit, row->padding);
        pieces[2 * i + 1] = take(&tape->parameters.items[row->index].grad);
        if (pieces[2 * i + 1])
            record(tape, pieces[2 * i + 1], all->gather_stream);
        else
            pieces[2 * i + 1] = zeros(tape, all, unit, row->elements);
    }
    pieces[2 * unit->count] = zeros(tape, all, unit, unit->end_padding);
    ms_tensor flat =
        ms_fsdp1_buffer(tape, unit, unit->elements, all->parallel->param_dtype, all->gather_stream);
    ms_name_storage(tape, flat, "flat gradient", MS_CATEGORY_GRADIENT);
    ms_retain(tape, flat);
    for (uint32_t i = 0; i < 2 * unit->count + 1; i++)
        ms_release(tape, pieces[i]);
    return flat;
}

bool ms_fsdp1_flatten_gradients(ms_tape *tape, ms_fsdp1 *all, ms_fsdp1_unit *unit)
{
    if (ms_idle(tape) || !has_gradient(tape, all, unit))
        return false;
    ms_tensor *pieces = calloc(2 * (size_t)unit->count + 1, sizeof *pieces);
    if (!pieces) {
        ms_tape_fail(tape, MS_ERR_NOMEM);
        return false;
    }
    ms_tensor flat = concatenate(tape, all, unit, pieces);
    free(pieces);
    if (unit->grad) { /* added to it in place */
        ms_release(tape, flat);
    } else {
        unit->grad = flat;
    }
    return true;
}

/* The optimizer's parameters get gradients of their own size first, whose data is replaced. */
void ms_fsdp1_keep_gradient(ms_tape *tape, ms_fsdp1 *all, ms_fsdp1_unit *unit)
{
    for (uint32_t i = 0; i < unit->count && !all->parallel->has_flat_parameters; i++) {
        const ms_fsdp1_parameter *row = ms_fsdp1_parameter_of(all, unit, i);
        if (row->in_shard && !unit->has_kept)
            ms_consume(tape, ms_fsdp1_buffer(tape, unit, row->in_shard, all->parallel->shard_dtype,
                                             all->gather_stream));
    }
    unit->has_kept = true;
}

/* ---- reduction ---- */

/* The sum over the copies of the parameters, in place. */
static uint32_t reduce_copies(ms_tape *tape, const ms_fsdp1 *all, uint32_t scope, ms_tensor output)
{
    record(tape, output, all->all_reduce_stream);
    uint64_t bytes = 2 * exchanged(ms_tensor_bytes(tape, output), all->parallel->layout.copies);
    ms_work_wait(tape, ms_collective_of(tape, scope, all->parallel->layout.copies,
                                        MS_WORK_ALL_REDUCE, all->all_reduce_stream, bytes));
    return all->all_reduce_stream;
}

static ms_tensor reduce(ms_tape *tape, ms_fsdp1 *all, ms_fsdp1_unit *unit, uint64_t input_bytes)
{
    const ms_parallel *parallel = all->parallel;
    uint32_t stream = all->reduce_stream;
    ms_tensor output = ms_fsdp1_buffer(tape, unit, unit->part, parallel->reduce_dtype, stream);
    ms_name_storage(tape, output, "sharded gradients", MS_CATEGORY_GRADIENT);
    ms_retain(tape, output);
    if (ms_idle(tape))
        return output;
    ms_work_wait(tape, ms_collective_of(tape, unit->scope, parallel->layout.shards,
                                        MS_WORK_REDUCE_SCATTER, stream,
                                        exchanged(input_bytes, parallel->layout.shards)));
    if (parallel->layout.copies > 1)
        stream = reduce_copies(tape, all, unit->scope, output);
    if (parallel->reduce_dtype != parallel->shard_dtype) {
        ms_tensor cast = ms_fsdp1_buffer(tape, unit, unit->part, parallel->shard_dtype, stream);
        ms_name_storage(tape, cast, "sharded gradients", MS_CATEGORY_GRADIENT);
        ms_retain(tape, cast);
        ms_release(tape, output);
        output = cast;
    }
    return output;
}

void ms_fsdp1_reduce(ms_tape *tape, ms_fsdp1 *all, ms_fsdp1_unit *unit)
{
    const ms_parallel *parallel = all->parallel;
    ms_tensor computed = take(&unit->grad), cast = 0, padded = 0;
    uint64_t whole = unit->part * parallel->layout.shards;
    if (parallel->reduce_dtype != parallel->param_dtype) {
        cast =
            ms_fsdp1_buffer(tape, unit, unit->elements, parallel->reduce_dtype, all->reduce_stream);
        ms_name_storage(tape, cast, "reduce-scatter input", MS_CATEGORY_GRADIENT);
        ms_retain(tape, cast);
    }
    if (whole != unit->elements) {
        padded = ms_fsdp1_buffer(tape, unit, whole, parallel->reduce_dtype, all->reduce_stream);
        ms_name_storage(tape, padded, "reduce-scatter input", MS_CATEGORY_GRADIENT);
        ms_retain(tape, padded);
    }
    ms_tensor output = reduce(tape, all, unit, whole * ms_dtype_bytes(parallel->reduce_dtype));
    if (unit->shard_grad)
        ms_release(tape, output); /* added to it in place */
    else
        unit->shard_grad = output;
    ms_release(tape, padded);
    ms_release(tape, cast);
    record(tape, computed, all->reduce_stream);
    ms_release(tape, computed);
    unit->has_kept = false;
}
