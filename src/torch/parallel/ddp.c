/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * DistributedDataParallel: gradients are reduced in flat buckets. The first backward pass has one
 * bucket for each type; the next forward makes new ones, in the order in which gradients became
 * complete. A bucket is closed when it has reached its limit, so a tensor is never divided. With
 * find_unused_parameters the first ones have limits, and stay.
 */
#include "torch/parallel/kit/kinds.h"

#include "torch/parallel/zero/zero.h"
#include "core/trace/build.h"

/* What _sync_module_states and _sync_buffers broadcast at once. */
static const uint64_t BROADCAST_BYTES = UINT64_C(250) << 20;
/* torch.distributed._DEFAULT_FIRST_BUCKET_BYTES. */
static const uint64_t FIRST_BUCKET_BYTES = UINT64_C(1) << 20;
static const uint64_t LATER_BUCKET_BYTES = UINT64_C(25) << 20;

typedef struct bucket {
    ms_tensor flat;
    ms_dtype dtype;
    uint64_t elements, bytes;
    uint32_t count, pending; /* parameters; those whose gradients are not complete */
    bool is_closed;
} bucket;

typedef struct ddp {
    const ms_parallel *parallel;
    ms_vec(bucket) buckets;
    ms_vec(uint32_t) bucket_of; /* by parameter */
    ms_vec(uint32_t) ready;     /* parameters in the order of the first backward pass */
    ms_tensor used;             /* which parameters a pass used */
    uint32_t passes;            /* that reduced gradients, with the running one */
    bool is_rebuilt;
    bool syncs;                /* in this micro-step */
    bool has_unsynced_forward; /* the forward before did not: then buffers are not broadcast */
    uint32_t stream;
    uint32_t last_work; /* or MS_NONE */
} ddp;

static void install(ms_tape *tape, void *state);

static void free_state(void *state)
{
    ddp *all = state;
    ms_vec_free(&all->buckets);
    ms_vec_free(&all->bucket_of);
    ms_vec_free(&all->ready);
}

static const ms_state_kind kind = {.bytes = sizeof(ddp), .install = install, .free = free_state};

static ms_dtype dtype_of(ms_tape *tape, ms_tensor tensor)
{
    return (ms_dtype)ms_info(tape, tensor)->dtype;
}

/* ---- buckets ---- */

/* The open bucket of this type, or a new one. */
static bucket *open_bucket(ms_tape *tape, ddp *all, ms_dtype dtype)
{
    for (uint32_t i = 0; i < all->buckets.count; i++)
        if (all->buckets.items[i].dtype == dtype && !all->buckets.items[i].is_closed)
            return &all->buckets.items[i];
    if (ms_vec_push(&all->buckets, (bucket){.dtype = dtype}))
        return &all->buckets.items[all->buckets.count - 1];
    ms_tape_fail(tape, MS_ERR_NOMEM);
    return NULL;
}

/* Without bucket_cap_mb every type has two limits in turn: the first one once, then the other. */
static uint64_t limit_of(const ddp *all, ms_dtype dtype)
{
    if (all->parallel->bucket_cap_mb > 0)
        return all->parallel->bucket_cap_mb << 20;
    for (uint32_t i = 0; i < all->buckets.count; i++)
        if (all->buckets.items[i].dtype == dtype && all->buckets.items[i].is_closed)
            return LATER_BUCKET_BYTES;
    return FIRST_BUCKET_BYTES;
}

static void assign(ms_tape *tape, ddp *all, uint32_t parameter, bool is_limited)
{
    ms_tensor tensor = tape->parameters.items[parameter].tensor;
    bucket *b = open_bucket(tape, all, dtype_of(tape, tensor));
    if (!b)
        return;
    all->bucket_of.items[parameter] = (uint32_t)(b - all->buckets.items);
    b->elements += ms_elements(&ms_info(tape, tensor)->shape);
    b->bytes += ms_tensor_bytes(tape, tensor);
    b->count++;
    b->is_closed = is_limited && b->bytes >= limit_of(all, b->dtype);
}

/* The gradient is copied into the bucket, of which it is a view from then on. */
static void replace_by_view(ms_tape *tape, const ddp *all, ms_parameter *parameter, uint32_t index)
{
    ms_tensor flat = all->buckets.items[all->bucket_of.items[index]].flat;
    if (ms_info(tape, parameter->grad)->storage == ms_info(tape, flat)->storage)
        return;
    const ms_tensor_info *info = ms_info(tape, parameter->grad);
    const ms_shape shape = info->shape;
    uint64_t strides[MS_MAX_RANK];
    for (uint32_t i = 0; i < shape.rank; i++)
        strides[i] = info->strides[i];
    ms_tensor view = ms_alias(tape, flat, shape, strides);
    ms_retain(tape, view);
    ms_release(tape, parameter->grad);
    parameter->grad = view;
}

/* Gradients of earlier micro-steps move to a new bucket when it is made. */
static void take_over(ms_tape *tape, const ddp *all, uint32_t bucket_index)
{
    for (uint32_t i = 0; i < all->bucket_of.count && !ms_idle(tape); i++) {
        ms_parameter *parameter = &tape->parameters.items[i];
        if (all->bucket_of.items[i] == bucket_index && parameter->grad)
            replace_by_view(tape, all, parameter, i);
    }
}

static void allocate_buckets(ms_tape *tape, ddp *all)
{
    for (uint32_t i = 0; i < all->buckets.count && tape->status == MS_OK; i++) {
        bucket *b = &all->buckets.items[i];
        b->flat = ms_empty_bytes(tape, b->elements * ms_dtype_bytes(b->dtype), b->dtype);
        ms_name_storage(tape, b->flat, "bucket of gradients", MS_CATEGORY_GRADIENT);
        ms_retain(tape, b->flat);
        if (all->parallel->has_bucket_views && all->is_rebuilt)
            take_over(tape, all, i);
    }
}

static void drop_buckets(ms_tape *tape, ddp *all)
{
    for (uint32_t i = 0; i < all->buckets.count; i++)
        ms_release(tape, all->buckets.items[i].flat);
    all->buckets.count = 0;
}

/* The ranks agree on the order through two tensors of int32. */
static void agree(ms_tape *tape, const ddp *all, uint32_t buckets_before)
{
    uint64_t indices = all->ready.count + 1;
    ms_tensor order = ms_empty_bytes(tape, 4 * indices, MS_DTYPE_I32);
    ms_tensor sizes = ms_empty_bytes(tape, 4 * (uint64_t)buckets_before, MS_DTYPE_I32);
    ms_consume(tape, sizes);
    ms_consume(tape, order);
}

static void rebuild(ms_tape *tape, ddp *all)
{
    ddp planned = {.parallel = all->parallel, .bucket_of = all->bucket_of};
    for (uint32_t i = 0; i < all->ready.count && tape->status == MS_OK; i++)
        assign(tape, &planned, all->ready.items[i], true);
    agree(tape, all, planned.buckets.count);
    drop_buckets(tape, all);
    ms_vec_free(&all->buckets);
    all->buckets.items = planned.buckets.items;
    all->buckets.count = planned.buckets.count;
    all->buckets.capacity = planned.buckets.capacity;
    all->is_rebuilt = true;
    allocate_buckets(tape, all);
}

/* ---- broadcasts ---- */

typedef struct broadcast {
    uint64_t bytes;
    uint32_t count;
    ms_dtype dtype;
} broadcast;

typedef ms_vec(broadcast) broadcasts;

/* A packed weight is broadcast as the bytes that it is. */
static void add_to_broadcasts(ms_tape *tape, broadcasts *list, ms_tensor tensor)
{
    uint64_t bytes = ms_tensor_bytes(tape, tensor);
    uint64_t stored = tape->trace->storages.items[ms_info(tape, tensor)->storage].bytes;
    bool is_packed = stored < bytes;
    ms_dtype dtype = is_packed ? MS_DTYPE_U8 : dtype_of(tape, tensor);
    broadcast *open = NULL;
    for (uint32_t i = 0; i < list->count; i++)
        if (list->items[i].dtype == dtype && list->items[i].bytes < BROADCAST_BYTES)
            open = &list->items[i];
    if (!open && ms_vec_push(list, (broadcast){.dtype = dtype}))
        open = &list->items[list->count - 1];
    if (!open) {
        ms_tape_fail(tape, MS_ERR_NOMEM);
        return;
    }
    open->bytes += is_packed ? stored : bytes;
    open->count++;
}

/* Several tensors are copied into a flat one; at most two broadcasts are under way. */
static void run_broadcasts(ms_tape *tape, const ddp *all, const broadcasts *list)
{
    ms_tensor under_way = 0;
    for (uint32_t i = 0; i < list->count && tape->status == MS_OK; i++) {
        const broadcast *b = &list->items[i];
        ms_tensor flat = b->count > 1 ? ms_empty_bytes(tape, b->bytes, b->dtype) : 0;
        ms_work_wait(tape, ms_collective(tape, MS_WORK_ALL_GATHER, all->stream, b->bytes));
        ms_consume(tape, under_way);
        under_way = flat;
    }
    ms_consume(tape, under_way);
}

/* Parameters in the order of modules, then buffers: broadcasts stand in that of their first
 * tensors.
 */
static void broadcast_all(ms_tape *tape, const ddp *all, bool with_parameters)
{
    broadcasts list = {0};
    bool has_frozen = tape->in_order.count > 0;
    for (uint32_t i = 0; i < tape->in_order.count && with_parameters; i++)
        add_to_broadcasts(tape, &list, tape->in_order.items[i].tensor);
    for (uint32_t i = 0; i < tape->parameters.count && with_parameters && !has_frozen; i++)
        add_to_broadcasts(tape, &list, tape->parameters.items[i].tensor);
    for (uint32_t i = 0; i < tape->module_buffers.count; i++)
        add_to_broadcasts(tape, &list, tape->module_buffers.items[i]);
    run_broadcasts(tape, all, &list);
    ms_vec_free(&list);
}

/* ---- the step ---- */

/* DDP counts the gradients of a pass; the last one of a bucket starts its reduction. */
static void complete(ms_tape *tape, ddp *all, uint32_t parameter)
{
    bucket *b = &all->buckets.items[all->bucket_of.items[parameter]];
    if (b->pending == 0 || --b->pending > 0)
        return;
    uint64_t ranks = all->parallel->layout.copies;
    all->last_work =
        ms_collective(tape, MS_WORK_ALL_REDUCE, all->stream, 2 * (b->bytes / ranks * (ranks - 1)));
}

/* A static graph's first pass notes what is used, so the second one has the order of gradients. */
static bool is_first_of_static_graph(const ddp *all)
{
    return all->parallel->has_static_graph && all->passes == 1;
}

static void accumulated(ms_tape *tape, void *context, uint32_t index)
{
    ddp *all = context;
    if (index >= all->bucket_of.count || !all->syncs || ms_idle(tape))
        return;
    if (is_first_of_static_graph(all))
        return; /* it reduces everything when it is over */
    if (!all->is_rebuilt && !ms_vec_push(&all->ready, index))
        ms_tape_fail(tape, MS_ERR_NOMEM);
    if (all->parallel->has_bucket_views)
        replace_by_view(tape, all, &tape->parameters.items[index], index);
    complete(tape, all, index);
}

static void before_forward(ms_tape *tape, void *context, uint32_t scope)
{
    ddp *all = context;
    if (scope != MS_NONE || ms_idle(tape))
        return;
    if (!all->is_rebuilt && all->ready.count)
        rebuild(tape, all);
    for (uint32_t i = 0; i < all->buckets.count; i++)
        all->buckets.items[i].pending = all->buckets.items[i].count;
    all->passes += all->syncs;
    if (!all->has_unsynced_forward)
        broadcast_all(tape, all, false);
    all->has_unsynced_forward = !all->syncs;
}

/* A static graph's first pass: all parameters in their own order. */
static void reduce_late(ms_tape *tape, ddp *all)
{
    for (uint32_t i = 0; i < all->bucket_of.count && tape->status == MS_OK; i++) {
        if (all->parallel->has_bucket_views && tape->parameters.items[i].grad)
            replace_by_view(tape, all, &tape->parameters.items[i], i);
        complete(tape, all, i);
    }
}

static void after_backward(ms_tape *tape, void *context, uint32_t scope)
{
    ddp *all = context;
    bool is_late = is_first_of_static_graph(all) && all->syncs;
    if (scope == MS_NONE && is_late && !ms_idle(tape))
        reduce_late(tape, all);
    if (scope == MS_NONE && all->last_work != MS_NONE && !ms_idle(tape))
        ms_work_wait(tape, all->last_work);
    if (scope == MS_NONE)
        all->last_work = MS_NONE;
}

static void install(ms_tape *tape, void *state)
{
    ddp *all = state;
    all->parallel = ms_parallel_of(tape);
    all->last_work = MS_NONE;
    all->stream = ms_collective_stream(tape, "all-reduces", all->parallel->layout.copies,
                                       all->parallel->layout.copies);
    ms_hooks_push_gradient(tape, (ms_gradient_hook){.accumulated = accumulated, .context = state});
    ms_hooks_push_module(tape, (ms_module_hooks){.before_forward = before_forward,
                                                 .after_backward = after_backward,
                                                 .context = state});
}

/* The last bucket has the first parameters, whose gradients come last. */
static void reverse_buckets(ddp *all)
{
    const uint32_t count = all->buckets.count;
    for (uint32_t i = 0; i < count / 2; i++) {
        const bucket b = all->buckets.items[i];
        all->buckets.items[i] = all->buckets.items[count - 1 - i];
        all->buckets.items[count - 1 - i] = b;
    }
    for (uint32_t i = 0; i < all->bucket_of.count; i++)
        all->bucket_of.items[i] = count - 1 - all->bucket_of.items[i];
}

static void build_end(ms_tape *tape)
{
    ddp *all = ms_hooks_state(tape, &kind);
    if (!all)
        return;
    if (all->parallel->has_init_sync)
        broadcast_all(tape, all, true);
    for (uint32_t i = 0; i < tape->parameters.count; i++)
        if (!ms_vec_push(&all->bucket_of, 0u))
            ms_tape_fail(tape, MS_ERR_NOMEM);
    for (uint32_t i = 0; i < tape->parameters.count && tape->status == MS_OK; i++)
        assign(tape, all, i, all->parallel->finds_unused);
    if (all->parallel->finds_unused)
        reverse_buckets(all);
    all->is_rebuilt = all->parallel->finds_unused;
    allocate_buckets(tape, all);
    if (all->parallel->has_static_graph || all->parallel->finds_unused) {
        all->used = ms_empty_bytes(tape, 4 * (uint64_t)tape->parameters.count, MS_DTYPE_I32);
        ms_name_storage(tape, all->used, "parameters in use", MS_CATEGORY_BUFFER);
        ms_retain(tape, all->used);
    }
    if (all->parallel->has_zero_optimizer)
        ms_zero_optimizer_build(tape);
}

static void micro_step(ms_tape *tape, bool is_last)
{
    ddp *all = ms_hooks_find_state(tape, &kind);
    all->syncs = is_last || !all->parallel->syncs_last_only;
}

static bool copies_outputs(const ms_tape *tape)
{
    const ddp *all = ms_hooks_find_state(tape, &kind);
    return all->parallel->finds_unused || (all->parallel->has_static_graph && all->passes == 0);
}

const ms_parallel_technique ms_parallel_ddp = {
    .build_end = build_end, .micro_step = micro_step, .copies_outputs = copies_outputs};
