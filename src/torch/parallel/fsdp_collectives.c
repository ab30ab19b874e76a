/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Collectives of a unit. Gathered memory comes from the pool of the all-gathers' stream, parameters
 * that are copied out of it from that of the operators; reduced gradients come from the pool of the
 * reduce-scatters' stream.
 */
#include "core/trace/build.h"
#include "torch/parallel/fsdp.h"
#include "torch/parallel/kit/packing.h"

/* ---- fsdp cat ---- */

/* Whole gradients on their way into the input of a reduction (torch._chunk_cat, TensorShape.cu). */

/* A kernel copies one type, or bf16 to fp32. In other types PyTorch concatenates. */
static bool has_kernel(const ms_parallel *parallel, ms_dtype dtype)
{
    return dtype == parallel->reduce_dtype ||
           (dtype == MS_DTYPE_BF16 && parallel->reduce_dtype == MS_DTYPE_F32);
}

typedef ms_vec(ms_tensor) tensors;

static void push_padded(ms_tape *tape, tensors *padded, uint64_t elements, ms_dtype dtype)
{
    ms_tensor tensor = ms_empty_bytes(tape, elements * ms_dtype_bytes(dtype), dtype);
    if (!ms_vec_push(padded, tensor))
        ms_tape_fail(tape, MS_ERR_NOMEM);
}

/* Gradients whose rows the ranks do not share evenly are padded first, all of them. */
static void concatenate(ms_tape *tape, const ms_fsdp *all, const ms_fsdp_unit *unit,
                        const ms_tensor *grads)
{
    tensors padded = {0};
    for (uint32_t i = 0; i < unit->count && !ms_idle(tape); i++) {
        const ms_fsdp_parameter *row = &all->parameters.items[unit->first + i];
        const uint64_t whole = row->padded * all->parallel->layout.shards;
        if (grads[i] && ms_elements(&ms_info(tape, grads[i])->shape) != whole)
            push_padded(tape, &padded, whole, (ms_dtype)ms_info(tape, grads[i])->dtype);
    }
    for (uint32_t i = 0; i < padded.count; i++)
        ms_consume(tape, padded.items[i]);
    ms_vec_free(&padded);
}

/* What lives while whole gradients of a unit, 0 for those there are none of, are copied into the
 * input of its reduction (fsdp_cat.c): torch._chunk_cat. */
static void fsdp_cat(ms_tape *tape, const ms_fsdp *all, const ms_fsdp_unit *unit,
                     const ms_tensor *grads)
{
    const ms_parallel *parallel = all->parallel;
    const uint64_t size = ms_dtype_bytes(parallel->reduce_dtype);
    ms_packing packing = {.ranks = parallel->layout.shards};
    ms_dtype dtype = parallel->reduce_dtype;
    for (uint32_t i = 0; i < unit->count; i++) {
        if (!grads[i])
            continue;
        dtype = (ms_dtype)ms_info(tape, grads[i])->dtype;
        ms_packing_chunk(&packing, size * all->parameters.items[unit->first + i].padded);
    }
    if (has_kernel(parallel, dtype))
        ms_consume(tape, ms_empty_bytes(tape, ms_packing_chunk_cat_bytes(&packing), MS_DTYPE_I64));
    else
        concatenate(tape, all, unit, grads);
}

/* ---- fsdp collectives ---- */

static ms_fsdp_parameter *parameter_of(const ms_fsdp *all, const ms_fsdp_unit *unit, uint32_t i)
{
    return &all->parameters.items[unit->first + i];
}

static uint64_t padded_elements(const ms_fsdp *all, const ms_fsdp_unit *unit)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < unit->count; i++)
        sum += parameter_of(all, unit, i)->padded;
    return sum;
}

static ms_tensor named_buffer(ms_tape *tape, const ms_fsdp_unit *unit, uint64_t elements,
                              ms_dtype dtype, const char *name, ms_category category)
{
    uint32_t previous = ms_scope_enter(tape, unit->scope);
    ms_tensor tensor = ms_empty_bytes(tape, elements * ms_dtype_bytes(dtype), dtype);
    ms_name_storage(tape, tensor, name, category);
    tape->scope = previous;
    return tensor;
}

/* What leaves a rank for the others, and what comes from them, in a group of so many. */
static uint64_t exchanged(uint64_t bytes, uint64_t ranks)
{
    return bytes / ranks * (ranks - 1);
}

/* ---- all-gather ---- */

/* How many ranks hold what is gathered. */
static uint64_t gathered_ranks(const ms_fsdp *all, const ms_fsdp_unit *unit)
{
    return unit->is_spread ? all->parallel->reshard_ranks : all->parallel->layout.shards;
}

/* A shard that comes from the host, in the type of the computation. */
static ms_tensor fetch(ms_tape *tape, const ms_fsdp *all, const ms_fsdp_unit *unit,
                       const ms_fsdp_parameter *row)
{
    const ms_parallel *parallel = all->parallel;
    ms_tensor shard = named_buffer(tape, unit, row->padded, row->dtype, "shard of the host",
                                   MS_CATEGORY_TEMPORARY);
    if (ms_idle(tape))
        return shard;
    ms_work_begin(tape, ms_work_of(MS_WORK_TO_DEVICE, ms_tensor_bytes(tape, shard)));
    if (parallel->param_dtype == row->dtype)
        return shard;
    ms_tensor cast = named_buffer(tape, unit, row->padded, parallel->param_dtype,
                                  "all-gather input", MS_CATEGORY_TEMPORARY);
    ms_consume(tape, shard);
    return cast;
}

static ms_tensor gather_output(ms_tape *tape, const ms_fsdp *all, const ms_fsdp_unit *unit,
                               uint64_t elements)
{
    ms_tensor output = named_buffer(tape, unit, elements, all->parallel->param_dtype,
                                    "all-gather output", MS_CATEGORY_TEMPORARY);
    ms_retain(tape, output);
    return output;
}

/* Each parameter comes from the host on its own. */
static ms_tensor gather_from_host(ms_tape *tape, const ms_fsdp *all, const ms_fsdp_unit *unit,
                                  uint64_t elements)
{
    ms_tensor *inputs = calloc(unit->count, sizeof *inputs);
    if (!inputs) {
        ms_tape_fail(tape, MS_ERR_NOMEM);
        return 0;
    }
    for (uint32_t i = 0; i < unit->count; i++)
        inputs[i] = fetch(tape, all, unit, parameter_of(all, unit, i));
    ms_tensor output = gather_output(tape, all, unit, elements);
    for (uint32_t i = 0; i < unit->count; i++)
        ms_consume(tape, inputs[i]);
    free(inputs);
    return output;
}

/* One cast of all shards that have another type than the computation. */
static ms_tensor gather_from_device(ms_tape *tape, const ms_fsdp *all, const ms_fsdp_unit *unit,
                                    uint64_t elements)
{
    const ms_parallel *parallel = all->parallel;
    uint64_t inputs = 0;
    ms_tensor cast = 0;
    for (uint32_t i = 0; i < unit->count; i++)
        if (parameter_of(all, unit, i)->dtype != parallel->param_dtype)
            inputs += parameter_of(all, unit, i)->padded;
    if (inputs)
        cast =
            named_buffer(tape, unit, inputs * parallel->layout.shards / gathered_ranks(all, unit),
                         parallel->param_dtype, "all-gather input", MS_CATEGORY_TEMPORARY);
    ms_tensor output = gather_output(tape, all, unit, elements);
    ms_consume(tape, cast);
    return output;
}

void ms_fsdp_unshard(ms_tape *tape, ms_fsdp *all, ms_fsdp_unit *unit)
{
    if (unit->gathered || unit->is_unsharded || !unit->count || ms_idle(tape))
        return;
    const ms_parallel *parallel = all->parallel;
    uint64_t ranks = gathered_ranks(all, unit);
    uint64_t elements = padded_elements(all, unit) * parallel->layout.shards / ranks;
    tape->stream = all->is_one_of_several ? MS_STREAM_OPERATORS : all->gather_stream;
    unit->gathered = parallel->offloads ? gather_from_host(tape, all, unit, elements * ranks)
                                        : gather_from_device(tape, all, unit, elements * ranks);
    tape->stream = MS_STREAM_OPERATORS;
    if (unit->gathered)
        unit->gathering =
            ms_collective_of(tape, unit->scope, ranks, MS_WORK_ALL_GATHER, all->gather_stream,
                             exchanged(ms_tensor_bytes(tape, unit->gathered), ranks));
}

void ms_fsdp_spread(ms_tape *tape, ms_fsdp *all, ms_fsdp_unit *unit)
{
    const ms_parallel *parallel = all->parallel;
    for (uint32_t i = 0; i < unit->count && unit->is_unsharded && !ms_idle(tape); i++) {
        ms_fsdp_parameter *row = parameter_of(all, unit, i);
        row->spread = named_buffer(
            tape, unit, row->padded * parallel->layout.shards / parallel->reshard_ranks,
            parallel->param_dtype, "parameters among fewer ranks", MS_CATEGORY_WEIGHT);
        ms_retain(tape, row->spread);
        if (row->spread)
            ms_storage_empty(tape, row->full);
    }
    unit->is_unsharded = false;
    unit->is_spread = true;
}

static void drop_spread(ms_tape *tape, const ms_fsdp *all, ms_fsdp_unit *unit)
{
    for (uint32_t i = 0; i < unit->count && unit->is_spread; i++) {
        ms_fsdp_parameter *row = parameter_of(all, unit, i);
        ms_release(tape, row->spread);
        row->spread = 0;
    }
    unit->is_spread = false;
}

/* The table of the kernel that copies parameters out. */
static void split_table(ms_tape *tape, const ms_fsdp *all, const ms_fsdp_unit *unit)
{
    uint64_t ranks = gathered_ranks(all, unit);
    uint64_t size =
        ms_dtype_bytes(all->parallel->param_dtype) * all->parallel->layout.shards / ranks;
    ms_packing packing = {.device = tape->options.device, .ranks = ranks};
    for (uint32_t i = 0; i < unit->count; i++)
        ms_packing_chunk(&packing, size * parameter_of(all, unit, i)->padded);
    ms_packing_coarsen(&packing);
    for (uint32_t i = 0; i < unit->count; i++)
        ms_packing_recount(&packing, size * parameter_of(all, unit, i)->padded);
    ms_consume(tape, ms_empty_bytes(tape, ms_packing_split_copy_bytes(&packing), MS_DTYPE_I64));
}

void ms_fsdp_wait_for_unshard(ms_tape *tape, ms_fsdp *all, ms_fsdp_unit *unit, bool is_forward)
{
    if (!unit->gathered || ms_idle(tape))
        return;
    ms_work_wait(tape, unit->gathering);
    for (uint32_t i = 0; i < unit->count; i++)
        ms_storage_refill(tape, parameter_of(all, unit, i)->full);
    split_table(tape, all, unit);
    drop_spread(tape, all, unit);
    unit->is_unsharded = true;
    ms_tensor done = unit->gathered;
    unit->gathered = 0;
    if (is_forward) {
        ms_release(tape, all->copied_out);
        all->copied_out = done;
    } else {
        ms_release(tape, done);
    }
}

void ms_fsdp_reshard(ms_tape *tape, ms_fsdp *all, ms_fsdp_unit *unit)
{
    for (uint32_t i = 0; i < unit->count && unit->is_unsharded && !ms_idle(tape); i++)
        ms_storage_empty(tape, parameter_of(all, unit, i)->full);
    unit->is_unsharded = false;
}

/* ---- reduction ---- */

static void wait_for_reduction(ms_tape *tape, ms_fsdp_unit *unit)
{
    if (unit->reducing != MS_NONE)
        ms_work_wait(tape, unit->reducing);
    unit->reducing = MS_NONE;
    ms_release(tape, unit->all_reduced);
    unit->all_reduced = 0;
}

void ms_fsdp_finalize(ms_tape *tape, ms_fsdp_unit *unit)
{
    wait_for_reduction(tape, unit);
}

static ms_tensor take(ms_tensor *slot)
{
    ms_tensor tensor = *slot;
    *slot = 0;
    return tensor;
}

/* A gradient that is not reduced stays, in the type of the reduction. */
static void keep_gradient(ms_tape *tape, const ms_fsdp *all, ms_fsdp_parameter *row)
{
    const ms_parallel *parallel = all->parallel;
    if (row->index == MS_NONE)
        return;
    ms_parameter *parameter = &tape->parameters.items[row->index];
    if (!parameter->grad || parallel->reduce_dtype == parallel->param_dtype)
        return;
    ms_tensor grad = take(&parameter->grad);
    row->accumulated = ms_empty_like(tape, grad, parallel->reduce_dtype);
    ms_retain(tape, row->accumulated);
    uint32_t storage = ms_info(tape, row->accumulated)->storage;
    ms_trace_categorize(tape->trace, storage, MS_CATEGORY_GRADIENT);
    ms_trace_label(tape->trace, storage, parameter->name, parameter->scope);
    ms_release(tape, grad);
}

/* An accumulated gradient takes up the new one in place. */
static void accumulate(ms_tape *tape, ms_fsdp_parameter *row)
{
    if (row->index == MS_NONE)
        return;
    ms_parameter *parameter = &tape->parameters.items[row->index];
    if (row->accumulated && parameter->grad)
        ms_release(tape, take(&parameter->grad));
}

/* The whole gradient, which the caller then owns; 0: there is none. */
static ms_tensor take_gradient(ms_tape *tape, ms_fsdp_parameter *row)
{
    if (row->index == MS_NONE)
        return 0;
    ms_tensor grad =
        row->accumulated ? take(&row->accumulated) : take(&tape->parameters.items[row->index].grad);
    if (!grad || !row->redistributes || ms_idle(tape))
        return grad;
    ms_tensor placed = ms_empty_like(tape, row->full, (ms_dtype)ms_info(tape, grad)->dtype);
    ms_retain(tape, placed);
    ms_release(tape, grad);
    return placed;
}

/* A sharded gradient is a view of the reduction's output; a second one is added to the first. */
static void hand_out(ms_tape *tape, const ms_fsdp *all, const ms_fsdp_unit *unit, ms_tensor output,
                     const ms_tensor *grads)
{
    for (uint32_t i = 0; i < unit->count && !ms_idle(tape); i++) {
        ms_fsdp_parameter *row = parameter_of(all, unit, i);
        if (!grads[i] || row->grad || all->parallel->offloads)
            continue;
        const ms_tensor_info *shard = ms_info(tape, row->shard);
        row->grad = ms_alias(tape, output, shard->shape, shard->strides);
        ms_retain(tape, row->grad);
    }
}

/* The host takes the gradients, whose memory goes. */
static void send_to_host(ms_tape *tape, const ms_fsdp *all, ms_tensor output)
{
    if (all->parallel->offloads && !ms_idle(tape))
        ms_work_begin(tape, ms_work_of(MS_WORK_TO_HOST, ms_tensor_bytes(tape, output)));
}

/* The first output stays; later ones are added to it. */
static void keep_partial(ms_tape *tape, ms_fsdp_unit *unit, ms_tensor output)
{
    if (unit->partial)
        ms_release(tape, output);
    else
        unit->partial = output;
}

/* The sharded gradients of a unit, which the caller owns; 0: they wait for a later micro-step. */
static ms_tensor reduce(ms_tape *tape, ms_fsdp *all, ms_fsdp_unit *unit, ms_tensor input,
                        uint64_t elements)
{
    const ms_parallel *parallel = all->parallel;
    tape->stream = all->reduce_stream;
    ms_tensor output = named_buffer(tape, unit, elements, parallel->reduce_dtype,
                                    "sharded gradients", MS_CATEGORY_GRADIENT);
    ms_retain(tape, output);
    all->reduced = unit->reducing = ms_collective_of(
        tape, unit->scope, parallel->layout.shards, MS_WORK_REDUCE_SCATTER, all->reduce_stream,
        exchanged(ms_tensor_bytes(tape, input), parallel->layout.shards));
    if (parallel->sums_last_only && !all->is_last) {
        tape->stream = MS_STREAM_OPERATORS;
        keep_partial(tape, unit, output);
        return 0;
    }
    if (parallel->layout.copies > 1) {
        uint64_t bytes = 2 * exchanged(ms_tensor_bytes(tape, output), parallel->layout.copies);
        unit->reducing = ms_collective_of(tape, unit->scope, parallel->layout.copies,
                                          MS_WORK_ALL_REDUCE, all->all_reduce_stream, bytes);
        tape->stream = all->all_reduce_stream;
        unit->all_reduced = output;
        ms_retain(tape, output);
    }
    if (parallel->reduce_dtype != parallel->trained_dtype) {
        ms_tensor cast = named_buffer(tape, unit, elements, parallel->trained_dtype,
                                      "sharded gradients", MS_CATEGORY_GRADIENT);
        ms_retain(tape, cast);
        ms_release(tape, output);
        output = cast;
    }
    tape->stream = MS_STREAM_OPERATORS;
    return output;
}

/* The gradients go from the last to the second; the loop's variable holds on to the last one until
 * the reduction has returned. */
static void reduce_gradients(ms_tape *tape, ms_fsdp *all, ms_fsdp_unit *unit, ms_tensor *grads)
{
    uint64_t elements = 0;
    uint32_t last = MS_NONE;
    for (uint32_t i = 0; i < unit->count; i++) {
        elements += grads[i] ? parameter_of(all, unit, i)->padded : 0;
        last = grads[i] ? i : last;
    }
    if (all->reduced != MS_NONE)
        ms_work_wait(tape, all->reduced);
    ms_release(tape, all->reduce_input);
    wait_for_reduction(tape, unit);
    all->reduce_input =
        named_buffer(tape, unit, elements * all->parallel->layout.shards,
                     all->parallel->reduce_dtype, "reduce-scatter input", MS_CATEGORY_GRADIENT);
    ms_retain(tape, all->reduce_input);
    fsdp_cat(tape, all, unit, grads);
    for (uint32_t i = unit->count; i-- > 0;)
        if (grads[i] && i != last)
            ms_release(tape, grads[i]);
    if (ms_idle(tape))
        return;
    ms_tensor output = reduce(tape, all, unit, all->reduce_input, elements);
    if (output) {
        hand_out(tape, all, unit, output, grads);
        send_to_host(tape, all, output);
        ms_release(tape, output);
    }
    ms_release(tape, grads[last]);
    if (output)
        ms_release(tape, take(&unit->partial));
}

void ms_fsdp_post_backward(ms_tape *tape, ms_fsdp *all, ms_fsdp_unit *unit)
{
    for (uint32_t i = 0; i < unit->count; i++)
        accumulate(tape, parameter_of(all, unit, i));
    bool reshards = all->is_last || !all->parallel->keeps_after_backward;
    if (!all->reduces) {
        if (reshards)
            ms_fsdp_reshard(tape, all, unit);
        for (uint32_t i = 0; i < unit->count && !ms_idle(tape); i++)
            keep_gradient(tape, all, parameter_of(all, unit, i));
        return;
    }
    ms_tensor *grads = calloc(unit->count ? unit->count : 1, sizeof *grads);
    bool any = false;
    for (uint32_t i = 0; i < unit->count && grads; i++) {
        grads[i] = take_gradient(tape, parameter_of(all, unit, i));
        any |= grads[i] != 0;
    }
    if (reshards)
        ms_fsdp_reshard(tape, all, unit);
    if (!grads)
        ms_tape_fail(tape, MS_ERR_NOMEM);
    else if (any)
        reduce_gradients(tape, all, unit, grads);
    free(grads);
}
