/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The order of FullyShardedDataParallel's hooks: before and after each unit's forward and backward.
 */
#include "torch/parallel/fsdp1.h"

#include "core/trace/build.h"
#include "torch/autograd/cuda_reduce.h"

/* ---- fsdp1 flat ---- */

/* Flat parameters: those of a unit one after the other, aligned to 16 bytes of the
 * computation's type and of equal parts for all ranks where original parameters are kept;
 * otherwise the last part is padded. */

enum { ALIGNMENT_BYTES = 16 };

static uint64_t divide_up(uint64_t a, uint64_t b)
{
    return a / b + (a % b != 0);
}

static uint64_t up_to_multiple(uint64_t a, uint64_t b)
{
    return divide_up(a, b) * b;
}

/* ---- units ---- */

static void add_parameter(ms_tape *tape, ms_fsdp1 *all, ms_fsdp1_unit *unit, uint32_t index)
{
    const ms_parallel *parallel = all->parallel;
    const ms_parameter *parameter = &tape->parameters.items[index];
    uint64_t first = unit->elements;
    if (!parallel->has_flat_parameters)
        first = up_to_multiple(first, ALIGNMENT_BYTES / ms_dtype_bytes(parallel->param_dtype));
    const ms_fsdp1_parameter row = {.index = index,
                                    .full = parameter->tensor,
                                    .elements =
                                        ms_elements(&ms_info(tape, parameter->tensor)->shape),
                                    .padding = first - unit->elements,
                                    .first = first};
    unit->elements = first + row.elements;
    unit->count++;
    if (!ms_vec_push(&all->parameters, row))
        ms_tape_fail(tape, MS_ERR_NOMEM);
}

static uint64_t overlap(uint64_t first, uint64_t count, uint64_t begin, uint64_t end)
{
    uint64_t from = first > begin ? first : begin;
    uint64_t to = first + count < end ? first + count : end;
    return to > from ? to - from : 0;
}

static void divide(const ms_fsdp1 *all, ms_fsdp1_unit *unit)
{
    const ms_parallel *parallel = all->parallel;
    uint64_t ranks = parallel->layout.shards, rank = parallel->rank % ranks;
    if (!parallel->has_flat_parameters) {
        uint64_t whole = up_to_multiple(unit->elements, ranks);
        unit->end_padding = whole - unit->elements;
        unit->elements = whole;
    }
    unit->part = divide_up(unit->elements, ranks);
    for (uint32_t i = 0; i < unit->count; i++) {
        ms_fsdp1_parameter *row = ms_fsdp1_parameter_of(all, unit, i);
        row->in_shard =
            overlap(row->first, row->elements, rank * unit->part, (rank + 1) * unit->part);
    }
}

static void add_unit(ms_tape *tape, ms_fsdp1 *all, uint32_t layer)
{
    ms_fsdp1_unit unit = {.first = all->parameters.count,
                          .scope = layer == MS_NONE ? MS_NONE : ms_layer_scope(tape, layer)};
    for (uint32_t i = 0; i < tape->parameters.count && tape->status == MS_OK; i++)
        if (ms_scope_layer(tape, tape->parameters.items[i].scope) == layer)
            add_parameter(tape, all, &unit, i);
    if (tape->status == MS_OK) /* else a parameter has no row */
        divide(all, &unit);
    if (!ms_vec_push(&all->units, unit))
        ms_tape_fail(tape, MS_ERR_NOMEM);
}

/* ---- the gathered flat parameter: still on no device ---- */

/* The parameter becomes a view of it. */
static void make_view(ms_tape *tape, const ms_fsdp1 *all, const ms_fsdp1_unit *unit,
                      ms_fsdp1_parameter *row)
{
    if (all->parallel->build != MS_BUILD_DEVICE)
        ms_storage_empty(tape, row->full);
    const ms_tensor_info full = *ms_info(tape, row->full);
    ms_tensor view = ms_alias(tape, unit->gathered, full.shape, full.strides);
    if (!view)
        return;
    ms_storage_swap(tape, row->full, view);
    ms_info(tape, row->full)->is_view = true;
    tape->parameters.items[row->index].is_view = true;
    if (all->parallel->build != MS_BUILD_DEVICE) {
        ms_consume(tape, view);
        return;
    }
    row->original = view;
    ms_retain(tape, view);
}

static void make_gathered(ms_tape *tape, const ms_fsdp1 *all, ms_fsdp1_unit *unit)
{
    const ms_parallel *parallel = all->parallel;
    unit->gathered = ms_fsdp1_buffer(tape, unit, unit->part * parallel->layout.shards,
                                     parallel->param_dtype, all->gather_stream);
    ms_name_storage(tape, unit->gathered, "flat parameter", MS_CATEGORY_WEIGHT);
    ms_retain(tape, unit->gathered);
    for (uint32_t i = 0; i < unit->count && !ms_idle(tape); i++)
        make_view(tape, all, unit, ms_fsdp1_parameter_of(all, unit, i));
    if (!ms_idle(tape))
        ms_storage_empty(tape, unit->gathered);
}

/* ---- parts ---- */

static uint32_t depth_of(const ms_tape *tape, uint32_t scope)
{
    uint32_t depth = 0;
    for (; scope != MS_NONE; scope = tape->trace->scopes.items[scope].parent)
        depth++;
    return depth;
}

/* Modules are materialised breadth first. */
static void materialise(ms_tape *tape, const ms_fsdp1 *all, const ms_fsdp1_unit *unit)
{
    uint32_t left = unit->count;
    for (uint32_t depth = 0; left > 0 && !ms_idle(tape); depth++) {
        for (uint32_t i = 0; i < unit->count; i++) {
            ms_fsdp1_parameter *row = ms_fsdp1_parameter_of(all, unit, i);
            if (depth_of(tape, tape->parameters.items[row->index].scope) != depth)
                continue;
            row->original = ms_fsdp1_buffer(tape, unit, row->elements, all->parallel->load_dtype,
                                            MS_STREAM_OPERATORS);
            ms_retain(tape, row->original);
            left--;
        }
    }
    for (uint32_t i = 0; i < tape->module_buffers.count && unit->scope == MS_NONE; i++)
        ms_storage_refill(tape, tape->module_buffers.items[i]);
}

/* This rank's part, a clone; the last ones are padded. */
static void cut(ms_tape *tape, const ms_fsdp1 *all, ms_fsdp1_unit *unit)
{
    uint64_t ranks = all->parallel->layout.shards, rank = all->parallel->rank % ranks;
    uint64_t local = overlap(0, unit->elements, rank * unit->part, (rank + 1) * unit->part);
    ms_dtype dtype = all->parallel->load_dtype;
    unit->shard = ms_fsdp1_buffer(tape, unit, local, dtype, MS_STREAM_OPERATORS);
    ms_retain(tape, unit->shard);
    if (local < unit->part) {
        ms_tensor clone = unit->shard;
        unit->shard = ms_fsdp1_buffer(tape, unit, unit->part, dtype, MS_STREAM_OPERATORS);
        ms_retain(tape, unit->shard);
        ms_release(tape, clone);
    }
    ms_name_storage(tape, unit->shard, "flat parameter", MS_CATEGORY_WEIGHT);
}

static ms_tensor elements_of(ms_tape *tape, ms_tensor flat, uint64_t count)
{
    static const uint64_t stride = 1;
    ms_tensor view =
        ms_alias(tape, flat, MS_SHAPE(ms_dim_number(&tape->trace->symbols, count)), &stride);
    ms_retain(tape, view);
    return view;
}

/* What the optimizer sees: views of the part, or the part itself in the place of the first
 * parameter. */
static void make_shards(ms_tape *tape, const ms_fsdp1 *all, const ms_fsdp1_unit *unit)
{
    for (uint32_t i = 0; i < unit->count && !ms_idle(tape); i++) {
        ms_fsdp1_parameter *row = ms_fsdp1_parameter_of(all, unit, i);
        if (all->parallel->has_flat_parameters)
            row->in_shard = i == 0 ? unit->part : 0;
        row->shard = elements_of(tape, unit->shard, row->in_shard);
        tape->parameters.items[row->index].tensor = row->shard;
        tape->parameters.items[row->index].stream = all->gather_stream;
    }
}

static void make_part(ms_tape *tape, const ms_fsdp1 *all, ms_fsdp1_unit *unit)
{
    if (all->parallel->build != MS_BUILD_DEVICE)
        materialise(tape, all, unit);
    ms_tensor flat = unit->count ? ms_fsdp1_buffer(tape, unit, unit->elements,
                                                   all->parallel->load_dtype, MS_STREAM_OPERATORS)
                                 : 0;
    if (unit->count)
        cut(tape, all, unit);
    ms_consume(tape, flat);
    for (uint32_t i = 0; i < unit->count; i++)
        ms_release(tape, ms_fsdp1_parameter_of(all, unit, i)->original);
}

/* accelerate casts parts in half precision. Original parameters are views of what was loaded until
 * the unit's first forward has run. */
static void widen(ms_tape *tape, const ms_fsdp1 *all, ms_fsdp1_unit *unit)
{
    if (!unit->count)
        return;
    ms_tensor loaded = unit->shard;
    unit->shard =
        ms_fsdp1_buffer(tape, unit, unit->part, all->parallel->shard_dtype, MS_STREAM_OPERATORS);
    ms_retain(tape, unit->shard);
    ms_name_storage(tape, unit->shard, "flat parameter", MS_CATEGORY_WEIGHT);
    if (all->parallel->has_flat_parameters)
        ms_release(tape, loaded);
    else
        unit->loaded = loaded;
}

static void widen_parts(ms_tape *tape, ms_fsdp1 *all)
{
    if (all->parallel->load_dtype == all->parallel->shard_dtype)
        return;
    widen(tape, all, ms_fsdp1_root(all));
    for (uint32_t i = 0; i + 1 < all->units.count && tape->status == MS_OK; i++)
        widen(tape, all, &all->units.items[i]);
}

/* Makes flat parameters of those on the meta device, and parts of these (fsdp1_flat.c). */
static void fsdp1_make_units(ms_tape *tape, ms_fsdp1 *all)
{
    for (uint32_t layer = 0; layer < tape->layer_scopes.count && tape->status == MS_OK; layer++)
        add_unit(tape, all, layer);
    add_unit(tape, all, MS_NONE);
    tape->is_meta = true;
    for (uint32_t i = 0; i < all->units.count && tape->status == MS_OK; i++)
        make_gathered(tape, all, &all->units.items[i]);
    for (uint32_t i = 0; i < tape->module_buffers.count && all->parallel->build != MS_BUILD_DEVICE;
         i++)
        ms_storage_empty(tape, tape->module_buffers.items[i]);
    tape->is_meta = false;
    for (uint32_t i = 0; i < all->units.count && tape->status == MS_OK; i++)
        make_part(tape, all, &all->units.items[i]);
    widen_parts(tape, all);
    for (uint32_t i = 0; i < all->units.count && tape->status == MS_OK; i++)
        make_shards(tape, all, &all->units.items[i]);
}

/* ---- the first forward ---- */

static void allocate_once(ms_tape *tape, const ms_fsdp1_unit *unit, uint64_t elements,
                          ms_dtype dtype)
{
    ms_consume(tape, ms_fsdp1_buffer(tape, unit, elements, dtype, MS_STREAM_OPERATORS));
}

/* Tensors whose memory is used later are made with memory, which is freed. */
static void initialize(ms_tape *tape, const ms_fsdp1 *all, const ms_fsdp1_unit *unit)
{
    const ms_parallel *parallel = all->parallel;
    uint64_t whole = unit->part * parallel->layout.shards;
    bool casts = parallel->param_dtype != parallel->shard_dtype;
    if (!unit->count)
        return;
    if (casts)
        allocate_once(tape, unit, unit->part, parallel->param_dtype);
    allocate_once(tape, unit, whole, parallel->param_dtype);
    if (casts)
        allocate_once(tape, unit, whole, parallel->shard_dtype);
}

/* What the first forward allocates and frees. */
static void fsdp1_initialize(ms_tape *tape, ms_fsdp1 *all)
{
    initialize(tape, all, ms_fsdp1_root(all));
    for (uint32_t i = 0; i + 1 < all->units.count; i++)
        initialize(tape, all, &all->units.items[i]);
}

/* ---- what is seen ---- */

static void show_unit(ms_tape *tape, const ms_fsdp1 *all, const ms_fsdp1_unit *unit)
{
    for (uint32_t i = 0; i < unit->count && !ms_idle(tape); i++) {
        const ms_fsdp1_parameter *row = ms_fsdp1_parameter_of(all, unit, i);
        ms_parameter *parameter = &tape->parameters.items[row->index];
        parameter->tensor = row->shard;
        if (unit->shard_grad && row->in_shard)
            parameter->grad = elements_of(tape, unit->shard_grad, row->in_shard);
    }
}

/* The optimizer sees parts and their gradients, the model whole parameters. */
static void fsdp1_show_shards(ms_tape *tape, ms_fsdp1 *all)
{
    for (uint32_t i = 0; i < all->units.count; i++) {
        ms_fsdp1_unit *unit = &all->units.items[i];
        show_unit(tape, all, unit);
        if (!all->parallel->has_flat_parameters)
            continue;
        ms_release(tape, unit->shard_grad);
        unit->shard_grad = 0;
    }
    all->are_shards_shown = true;
}

static void fsdp1_show_parameters(ms_tape *tape, ms_fsdp1 *all)
{
    for (uint32_t i = 0; i < all->parameters.count; i++) {
        const ms_fsdp1_parameter *row = &all->parameters.items[i];
        tape->parameters.items[row->index].tensor = row->full;
    }
}

/* ---- fsdp1 clip ---- */

/* FullyShardedDataParallel.clip_grad_norm_: norms of this rank's gradients in fp32, one by
 * one. */

static ms_tensor scalar(ms_tape *tape, ms_dtype dtype)
{
    return ms_empty(tape, (ms_shape){.rank = 0}, dtype);
}

/* torch.linalg.vector_norm of so many elements. */
static ms_tensor vector_norm(ms_tape *tape, uint64_t elements)
{
    const ms_reduce_buffers buffers =
        ms_cuda_reduce_buffers(tape->options.device, 1, elements, true);
    ms_tensor norm = scalar(tape, MS_DTYPE_F32), partial = 0, semaphores = 0;
    if (buffers.partial_bytes)
        partial = ms_empty_bytes(tape, buffers.partial_bytes, MS_DTYPE_F32);
    if (buffers.semaphore_bytes)
        semaphores = ms_empty_bytes(tape, buffers.semaphore_bytes, MS_DTYPE_I32);
    ms_consume(tape, semaphores);
    ms_consume(tape, partial);
    return norm;
}

static uint32_t gradients_of(const ms_tape *tape)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < tape->parameters.count; i++)
        count += tape->parameters.items[i].grad != 0;
    return count;
}

static ms_tensor *norms_of_unit(ms_tape *tape, const ms_fsdp1 *all, const ms_fsdp1_unit *unit,
                                ms_tensor *next)
{
    for (uint32_t i = 0; i < unit->count; i++) {
        uint32_t index = ms_fsdp1_parameter_of(all, unit, i)->index;
        ms_tensor grad = tape->parameters.items[index].grad;
        if (grad)
            *next++ = vector_norm(tape, ms_elements(&ms_info(tape, grad)->shape));
    }
    return next;
}

/* The root's come first. */
static void norms_of_gradients(ms_tape *tape, const ms_fsdp1 *all, ms_tensor *norms)
{
    norms = norms_of_unit(tape, all, ms_fsdp1_root(all), norms);
    for (uint32_t i = 0; i + 1 < all->units.count; i++)
        norms = norms_of_unit(tape, all, &all->units.items[i], norms);
}

/* vector_norm(stack([vector_norm(grad) for grad in grads])) */
static ms_tensor norm_of_rank(ms_tape *tape, const ms_fsdp1 *all, uint32_t count)
{
    ms_tensor *norms = calloc(count, sizeof *norms);
    if (!norms) {
        ms_tape_fail(tape, MS_ERR_NOMEM);
        return 0;
    }
    norms_of_gradients(tape, all, norms);
    ms_tensor stacked =
        ms_empty_bytes(tape, count * (uint64_t)ms_dtype_bytes(MS_DTYPE_F32), MS_DTYPE_F32);
    for (uint32_t i = count; i-- > 0;)
        ms_consume(tape, norms[i]);
    free(norms);
    ms_tensor norm = vector_norm(tape, count);
    ms_consume(tape, stacked);
    return norm;
}

/* max_norm / (total_norm + 1e-6), clamped */
static void coefficient(ms_tape *tape, ms_tensor *unclamped, ms_tensor *clamped)
{
    ms_tensor sum = scalar(tape, MS_DTYPE_F32);
    ms_tensor reciprocal = scalar(tape, MS_DTYPE_F32);
    *unclamped = scalar(tape, MS_DTYPE_F32);
    ms_consume(tape, reciprocal);
    ms_consume(tape, sum);
    *clamped = scalar(tape, MS_DTYPE_F32);
}

/* Clips the gradients of this rank's parts (fsdp1_clip.c). */
static void ms_fsdp1_clip(ms_tape *tape, ms_fsdp1 *all)
{
    uint32_t count = gradients_of(tape);
    if (!all->zero) {
        all->zero = scalar(tape, MS_DTYPE_F32);
        ms_retain(tape, all->zero);
    }
    ms_dtype dtype = all->parallel->shard_dtype;
    ms_tensor unclamped, clamped, local = count ? norm_of_rank(tape, all, count) : 0;
    ms_tensor power = scalar(tape, MS_DTYPE_F32);
    if (!ms_idle(tape))
        ms_work_wait(tape, ms_collective(tape, MS_WORK_ALL_REDUCE, all->reduce_stream,
                                         ms_dtype_bytes(MS_DTYPE_F32)));
    ms_tensor total = scalar(tape, MS_DTYPE_F32);
    ms_consume(tape, power);
    coefficient(tape, &unclamped, &clamped);
    if (dtype != MS_DTYPE_F32)
        ms_consume(tape, scalar(tape, dtype));
    ms_consume(tape, local);
    ms_consume(tape, unclamped);
    ms_consume(tape, clamped);
    ms_consume(tape, total);
}

/* ---- fsdp1 ---- */

static void install(ms_tape *tape, void *state);

static void free_state(void *state)
{
    ms_fsdp1 *all = state;
    ms_vec_free(&all->parameters);
    ms_vec_free(&all->units);
}

static const ms_state_kind kind = {
    .bytes = sizeof(ms_fsdp1), .install = install, .free = free_state};

static ms_fsdp1 *fsdp1_of(ms_tape *tape)
{
    return ms_hooks_find_state(tape, &kind);
}

static ms_fsdp1_unit *unit_of(ms_tape *tape, const ms_fsdp1 *all, uint32_t scope)
{
    uint32_t layer = ms_scope_layer(tape, scope);
    return layer == MS_NONE ? ms_fsdp1_root(all) : &all->units.items[layer];
}

/* ---- forward ---- */

/* Gradients of the parts went with zero_grad where they were parameters of their own; views of
 * original parameters leave the flat gradient until now. */
static void drop_shown_gradients(ms_tape *tape, ms_fsdp1 *all)
{
    for (uint32_t i = 0; i < all->units.count && all->are_shards_shown; i++) {
        ms_fsdp1_unit *unit = &all->units.items[(i + all->units.count - 1) % all->units.count];
        ms_release(tape, unit->shard_grad);
        unit->shard_grad = 0;
    }
    all->are_shards_shown = false;
}

static void begin_forward(ms_tape *tape, ms_fsdp1 *all)
{
    fsdp1_show_parameters(tape, all);
    if (!all->is_initialized)
        fsdp1_initialize(tape, all);
    all->is_initialized = true;
    drop_shown_gradients(tape, all);
}

/* Before a unit's own forward or backward. */
static void unshard(ms_tape *tape, ms_fsdp1 *all, ms_fsdp1_unit *unit)
{
    if (!unit->is_prefetched)
        ms_fsdp1_unshard(tape, all, unit);
}

static void prefetch(ms_tape *tape, ms_fsdp1 *all, ms_fsdp1_unit *unit)
{
    if (unit->is_prefetched || unit->has_begun)
        return;
    ms_fsdp1_unshard(tape, all, unit);
    unit->is_prefetched = true;
}

/* The unit that runs after this one in forward. */
static void prefetch_after(ms_tape *tape, ms_fsdp1 *all, const ms_fsdp1_unit *unit)
{
    uint32_t index = unit == ms_fsdp1_root(all) ? 0 : (uint32_t)(unit - all->units.items) + 1;
    if (index + 1 < all->units.count && all->has_finished_pass)
        prefetch(tape, all, &all->units.items[index]);
}

static void before_forward(ms_tape *tape, void *context, uint32_t scope)
{
    ms_fsdp1 *all = context;
    if (ms_idle(tape) || tape->in_backward)
        return;
    if (scope == MS_NONE)
        begin_forward(tape, all);
    ms_fsdp1_unit *unit = unit_of(tape, all, scope);
    unit->is_ahead = unit->is_prefetched;
    unshard(tape, all, unit);
    if (all->parallel->prefetches_forward)
        prefetch_after(tape, all, unit);
}

/* Original parameters become views of the part that was cast. */
static void drop_loaded(ms_tape *tape, ms_fsdp1_unit *unit)
{
    ms_release(tape, unit->loaded);
    unit->loaded = 0;
}

static void after_forward(ms_tape *tape, void *context, uint32_t scope)
{
    ms_fsdp1 *all = context;
    if (ms_idle(tape) || tape->in_backward)
        return;
    unit_of(tape, all, scope)->is_prefetched = false;
    if (!all->parallel->keeps_unsharded)
        drop_loaded(tape, unit_of(tape, all, scope));
    if (scope == MS_NONE || all->parallel->keeps_unsharded)
        return; /* the root's parameters stay */
    ms_fsdp1_reshard(tape, all, unit_of(tape, all, scope), MS_STREAM_OPERATORS);
}

/* ---- backward ---- */

/* The unit that ran before this one in forward. */
static void prefetch_before(ms_tape *tape, ms_fsdp1 *all, const ms_fsdp1_unit *unit,
                            ms_prefetch when)
{
    uint32_t index = (uint32_t)(unit - all->units.items);
    if (index > 0 && all->parallel->backward_prefetch == when)
        prefetch(tape, all, &all->units.items[index - 1]);
}

static void backward_begins(ms_tape *tape)
{
    ms_fsdp1 *all = fsdp1_of(tape);
    unshard(tape, all, ms_fsdp1_root(all)); /* it is gathered, but the limiter counts it */
    prefetch_before(tape, all, ms_fsdp1_root(all), MS_PREFETCH_PRE);
}

static void before_backward(ms_tape *tape, void *context, uint32_t scope)
{
    ms_fsdp1 *all = context;
    if (ms_idle(tape))
        return;
    ms_fsdp1_unit *unit = unit_of(tape, all, scope);
    unshard(tape, all, unit);
    unit->has_begun = true;
    prefetch_before(tape, all, unit, MS_PREFETCH_PRE);
}

static void post_backward(ms_tape *tape, ms_fsdp1 *all, ms_fsdp1_unit *unit)
{
    unit->is_prefetched = unit->has_begun = false;
    if (!ms_fsdp1_flatten_gradients(tape, all, unit))
        return;
    drop_loaded(tape, unit);
    if (all->reduces || !all->parallel->keeps_unsharded)
        ms_fsdp1_reshard(tape, all, unit, all->gather_stream);
    if (unit->scope != MS_NONE) /* the root's is the last backward */
        prefetch_before(tape, all, unit, MS_PREFETCH_POST);
    if (all->reduces)
        ms_fsdp1_reduce(tape, all, unit);
    else
        ms_fsdp1_keep_gradient(tape, all, unit);
}

/* A flat parameter is split into parameters when it is gathered. Of two nodes that are ready,
 * autograd runs the one that was made later; so where a unit was gathered ahead, its split's
 * backward waits until that of the unit before it is done, and so do its gradients. */
static void run_late(ms_tape *tape, ms_fsdp1 *all)
{
    ms_fsdp1_unit *unit = all->late;
    all->late = NULL;
    if (unit)
        post_backward(tape, all, unit);
}

static void finish_backward(ms_tape *tape, ms_fsdp1 *all)
{
    run_late(tape, all);
    post_backward(tape, all, ms_fsdp1_root(all));
    for (uint32_t i = 0; i < all->units.count; i++)
        if (all->reduces || !all->parallel->keeps_unsharded)
            ms_fsdp1_reshard(tape, all, &all->units.items[i], MS_STREAM_OPERATORS);
    all->has_finished_pass = true;
    if (all->is_last)
        fsdp1_show_shards(tape, all);
}

static void after_backward(ms_tape *tape, void *context, uint32_t scope)
{
    ms_fsdp1 *all = context;
    if (ms_idle(tape))
        return;
    if (scope == MS_NONE) {
        finish_backward(tape, all);
        return;
    }
    ms_fsdp1_unit *unit = unit_of(tape, all, scope);
    run_late(tape, all);
    if (unit->is_ahead)
        all->late = unit;
    else
        post_backward(tape, all, unit);
}

static void install(ms_tape *tape, void *state)
{
    ms_fsdp1 *all = state;
    all->parallel = ms_parallel_of(tape);
    uint64_t ranks = all->parallel->layout.shards;
    all->cast_stream = ms_collective_stream(tape, "casts of shards", ranks, ranks);
    all->gather_stream = ms_collective_stream(tape, "all-gathers", ranks, ranks);
    all->reduce_stream = ms_collective_stream(tape, "reduce-scatters", ranks, ranks);
    if (all->parallel->layout.copies > 1)
        all->all_reduce_stream =
            ms_collective_stream(tape, "all-reduces", ms_layout_world(&all->parallel->layout),
                                 all->parallel->layout.copies);
    ms_hooks_push_module(tape, (ms_module_hooks){.before_forward = before_forward,
                                                 .after_forward = after_forward,
                                                 .before_backward = before_backward,
                                                 .after_backward = after_backward,
                                                 .context = state});
}

/* ---- the technique ---- */

static void build_begin(ms_tape *tape)
{
    tape->is_meta = ms_parallel_of(tape)->build != MS_BUILD_DEVICE;
}

static void build_end(ms_tape *tape)
{
    ms_fsdp1 *all = ms_hooks_state(tape, &kind);
    if (all)
        fsdp1_make_units(tape, all);
}

static void micro_step(ms_tape *tape, bool is_last)
{
    ms_fsdp1 *all = fsdp1_of(tape);
    all->is_last = is_last;
    all->reduces = is_last || !all->parallel->syncs_last_only;
}

static void clip(ms_tape *tape)
{
    ms_fsdp1_clip(tape, fsdp1_of(tape));
}

const ms_parallel_technique ms_parallel_fsdp1 = {.build_begin = build_begin,
                                                 .build_end = build_end,
                                                 .micro_step = micro_step,
                                                 .backward_begins = backward_begins,
                                                 .clip = clip};
