/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Construction under zero.Init: each parameter is made whole on the device, then its shard, and the
 * whole is released. The optimizer then moves all shards into one tensor by way of the host.
 */
#include "torch/parallel/zero/zero3.h"

#include <string.h>

#include "torch/parallel/zero/zero.h"
#include "core/trace/build.h"

/* Shards whose gradients are widened, and stepped, at a time. */
static const uint64_t GROUP_ELEMENTS = UINT64_C(1000000000);

enum { MOST_PADS = 1000000 }; /* as the sentence of check_pads has it */

/* dist.barrier(): its tensor lives until the next one. */
static void barrier(ms_tape *tape, ms_zero3 *all)
{
    ms_tensor next = ms_zero_vector(tape, 1, MS_DTYPE_U8, NULL, 0);
    ms_release(tape, all->barrier);
    all->barrier = next;
}

/* Parameter `i` in the order of modules. */
static ms_placed placed(const ms_tape *tape, uint32_t i)
{
    if (tape->in_order.count)
        return tape->in_order.items[i];
    const ms_parameter *parameter = &tape->parameters.items[i];
    return (ms_placed){.tensor = parameter->tensor,
                       .name = parameter->name,
                       .scope = parameter->scope,
                       .parameter = i,
                       .is_embedding = parameter->is_embedding};
}

static bool is_packed(ms_tape *tape, ms_tensor tensor)
{
    return !ms_dtype_info_of((ms_dtype)ms_info(tape, tensor)->dtype)->floating;
}

/* A packed weight is numbers that hold it, of the model's type or bytes. */
static uint64_t elements_of(ms_tape *tape, const ms_zero3 *all, ms_tensor tensor)
{
    const ms_tensor_info *info = ms_info(tape, tensor);
    if (!is_packed(tape, tensor))
        return ms_elements(&info->shape);
    return tape->trace->storages.items[info->storage].bytes /
           ms_dtype_bytes(all->parallel->zero.packed_dtype);
}

static void list_parameters(ms_tape *tape, ms_zero3 *all)
{
    const ms_zero *zero = &all->parallel->zero;
    uint64_t ranks = all->parallel->layout.shards;
    uint32_t count = tape->in_order.count ? tape->in_order.count : tape->parameters.count;
    for (uint32_t i = 0; i < tape->parameters.count; i++)
        if (!ms_vec_push(&all->row_of, 0u))
            ms_tape_fail(tape, MS_ERR_NOMEM);
    for (uint32_t i = 0; i < count && tape->status == MS_OK; i++) {
        const ms_placed place = placed(tape, i);
        uint64_t elements = elements_of(tape, all, place.tensor);
        const bool packed = is_packed(tape, place.tensor);
        const ms_zero3_parameter row = {.placed = place,
                                        .elements = elements,
                                        .dtype = packed ? zero->packed_dtype : all->dtype,
                                        .is_packed = packed,
                                        .shard = (elements + ranks - 1) / ranks,
                                        .persists = elements <= zero->param_persistence_threshold,
                                        .gather = MS_NONE};
        if (place.parameter != MS_NONE)
            all->row_of.items[place.parameter] = i;
        if (!ms_vec_push(&all->parameters, row))
            ms_tape_fail(tape, MS_ERR_NOMEM);
    }
}

/* What a backward would allocate to pad gradients (zero3_reduce.c) is refused before it is made. */
static void check_pads(ms_tape *tape, const ms_zero3 *all)
{
    uint64_t ranks = all->parallel->layout.shards, pads = 0;
    for (uint32_t i = 0; i < all->parameters.count; i++)
        if (ms_zero3_is_trained(all, i))
            pads += ranks - all->parameters.items[i].elements / all->parameters.items[i].shard;
    if (pads > MOST_PADS)
        ms_tape_refuse(
            tape,
            "ZeRO-3 allocates an empty tensor for each rank that has no part of a gradient, and "
            "more than 1000000 of them in a step are not simulated: give fewer ranks, or zero=2");
}

/* A block of experts that DeepSpeed knows by its class, and what is in it. */
static void find_leaves(ms_tape *tape, ms_zero3 *all)
{
    const ms_trace *trace = tape->trace;
    for (uint32_t i = 0; i < trace->scopes.count; i++)
        if (all->parallel->zero.has_leaf_blocks && trace->scopes.items[i].parent != MS_NONE &&
            strcmp(trace->names.items[trace->scopes.items[i].name], "experts") == 0)
            all->leaf_of.items[trace->scopes.items[i].parent] = trace->scopes.items[i].parent;
    for (uint32_t i = 0; i < trace->scopes.count; i++) {
        uint32_t parent = trace->scopes.items[i].parent;
        if (parent != MS_NONE && all->leaf_of.items[parent] != MS_NONE)
            all->leaf_of.items[i] = all->leaf_of.items[parent];
    }
}

static void count_below(const ms_tape *tape, ms_zero3 *all, uint32_t scope, uint32_t row)
{
    for (; scope != MS_NONE; scope = tape->trace->scopes.items[scope].parent) {
        all->below_first.items[scope] = row;
        all->below_count.items[scope]++;
    }
}

static void list_modules(ms_tape *tape, ms_zero3 *all)
{
    uint32_t scopes = tape->trace->scopes.count;
    for (uint32_t i = 0; i < scopes; i++)
        if (!ms_vec_push(&all->module_first, MS_NONE) || !ms_vec_push(&all->module_count, 0u) ||
            !ms_vec_push(&all->below_first, 0u) || !ms_vec_push(&all->below_count, 0u) ||
            !ms_vec_push(&all->leaf_of, MS_NONE) || !ms_vec_push(&all->external, MS_NONE) ||
            !ms_vec_push(&all->is_known, 0u))
            ms_tape_fail(tape, MS_ERR_NOMEM);
    if (tape->status == MS_OK)
        find_leaves(tape, all);
    for (uint32_t i = all->parameters.count; i-- > 0 && tape->status == MS_OK;) {
        uint32_t scope = all->parameters.items[i].placed.scope;
        if (scope >= scopes)
            continue;
        const ms_scope *row = &tape->trace->scopes.items[scope];
        if (strcmp(tape->trace->names.items[row->name], "lora_A") == 0)
            all->external.items[row->parent] = i;
        all->module_first.items[scope] = i;
        all->module_count.items[scope]++;
        count_below(tape, all, scope, i);
    }
}

/* Memory for each parameter with the padding of all shards. */
static void make_padded(ms_tape *tape, ms_zero3 *all)
{
    bool was_meta = tape->is_meta;
    uint64_t ranks = all->parallel->layout.shards;
    tape->is_meta = true;
    for (uint32_t i = 0; i < all->parameters.count && tape->status == MS_OK; i++) {
        ms_zero3_parameter *row = &all->parameters.items[i];
        if (row->elements % ranks == 0)
            continue;
        const ms_shape shape = ms_info(tape, row->placed.tensor)->shape;
        row->other = ms_empty(tape, shape, all->dtype);
        ms_retain(tape, row->other);
        if (!row->other)
            continue;
        uint32_t storage = ms_info(tape, row->other)->storage;
        ms_storage_empty(tape, row->other);
        ms_trace_resize(tape->trace, storage, row->shard * ranks * ms_dtype_bytes(row->dtype));
        ms_trace_categorize(tape->trace, storage, MS_CATEGORY_WEIGHT);
        ms_trace_label(tape->trace, storage, row->placed.name, row->placed.scope);
    }
    tape->is_meta = was_meta;
}

/* A head without parameters of its own uses the embedding's. */
static void find_tied_head(ms_tape *tape, ms_zero3 *all)
{
    const ms_trace *trace = tape->trace;
    all->tied_head = all->tied_to = MS_NONE;
    for (uint32_t i = 0; i < all->parameters.count; i++)
        if (all->parameters.items[i].placed.is_embedding && all->tied_to == MS_NONE)
            all->tied_to = i;
    for (uint32_t i = 0; i < trace->scopes.count; i++)
        if (strcmp(trace->names.items[trace->scopes.items[i].name], "lm_head") == 0 &&
            all->module_first.items[i] == MS_NONE && all->tied_to != MS_NONE)
            all->tied_head = i;
}

/* Without zero.Init the whole model is there before any parameter is divided. */
static bool is_made_by_module(const ms_zero3 *all)
{
    return all->parallel->zero.init;
}

/* The head's own parameter goes when it is tied to the embedding's. */
static void make_tied_head(ms_tape *tape, const ms_zero3 *all)
{
    if (all->tied_head == MS_NONE || !is_made_by_module(all))
        return;
    const ms_zero3_parameter *row = &all->parameters.items[all->tied_to];
    ms_tensor whole = ms_zero_vector(tape, row->elements, all->dtype, NULL, 0);
    ms_tensor shard = ms_zero_vector(tape, row->shard, all->dtype, NULL, 0);
    ms_release(tape, whole);
    ms_release(tape, shard);
}

/* The shard of a row; its parameter's memory goes. */
static void make_shard(ms_tape *tape, ms_zero3 *all, uint32_t i, ms_zero_tensors *shards)
{
    ms_zero3_parameter *row = &all->parameters.items[i];
    ms_tensor shard = 0; /* on the host with offload_param */
    if (!all->parallel->zero.offloads_parameters)
        shard = ms_zero_vector(tape, row->shard, row->dtype, "shard", MS_CATEGORY_WEIGHT);
    if (ms_zero3_is_trained(all, i) && !ms_vec_push(shards, shard))
        ms_tape_fail(tape, MS_ERR_NOMEM);
    ms_storage_empty(tape, row->placed.tensor);
}

static bool is_adapter(const ms_tape *tape, const ms_zero3 *all, uint32_t i)
{
    return tape->in_order.count && is_made_by_module(all) && ms_zero3_is_trained(all, i);
}

/* The parameters of a module are made together, then each is divided. */
static void make_shards(ms_tape *tape, ms_zero3 *all, ms_zero_tensors *shards)
{
    uint32_t count = all->parameters.count;
    for (uint32_t i = 0, end = 0; i < count && !ms_idle(tape); i++) {
        uint32_t scope = all->parameters.items[i].placed.scope;
        for (; is_made_by_module(all) && end < count &&
               (end == i || (end > i && all->parameters.items[end].placed.scope == scope));
             end++)
            if (!is_adapter(tape, all, end))
                ms_storage_refill(tape, all->parameters.items[end].placed.tensor);
        if (!is_adapter(tape, all, i))
            make_shard(tape, all, i, shards);
    }
}

/* An adapter's are made when the model is there, in fp32, and cast. */
static void make_adapter(ms_tape *tape, ms_zero3 *all, ms_zero_tensors *shards)
{
    for (uint32_t i = 0; i < all->parameters.count && !ms_idle(tape); i++) {
        if (!is_adapter(tape, all, i))
            continue;
        ms_tensor made =
            ms_zero_vector(tape, all->parameters.items[i].elements, MS_DTYPE_F32, NULL, 0);
        ms_storage_refill(tape, all->parameters.items[i].placed.tensor);
        ms_release(tape, made);
        make_shard(tape, all, i, shards);
    }
}

uint64_t ms_zero3_trained_elements(const ms_zero3 *all)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < all->parameters.count; i++)
        sum += ms_zero3_is_trained(all, i) ? all->parameters.items[i].shard : 0;
    return sum;
}

/* Appends the trained parameters of one of the optimizer's groups to the order; returns the
 * elements of their shards. */
static uint64_t append_group(ms_tape *tape, ms_zero3 *all, uint32_t number)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < all->parameters.count; i++) {
        uint32_t index = all->parameters.items[i].placed.parameter;
        if (index == MS_NONE || ms_zero_group_number(tape, &all->parallel->zero, index) != number)
            continue;
        sum += all->parameters.items[i].shard;
        if (!ms_vec_push(&all->order, i))
            ms_tape_fail(tape, MS_ERR_NOMEM);
    }
    return sum;
}

/* The sub-groups of a group. */
static void make_sub_groups(ms_tape *tape, ms_zero3 *all, uint32_t first, uint64_t sum)
{
    ms_zero3_group group = {.first = first};
    for (uint32_t i = first; i < all->order.count; i++) {
        group.elements += all->parameters.items[all->order.items[i]].shard;
        bool is_full = sum > GROUP_ELEMENTS && group.elements >= GROUP_ELEMENTS;
        if (!is_full && i + 1 < all->order.count)
            continue;
        group.end = i + 1;
        if (!ms_vec_push(&all->groups, group))
            ms_tape_fail(tape, MS_ERR_NOMEM);
        group = (ms_zero3_group){.first = i + 1};
    }
}

static void make_groups(ms_tape *tape, ms_zero3 *all)
{
    for (uint32_t number = 0; number < MS_ZERO_MOST_GROUPS; number++) {
        uint32_t first = all->order.count;
        uint64_t sum = append_group(tape, all, number);
        make_sub_groups(tape, all, first, sum);
    }
}

/* converted = group.to(fp32); the master is a clone of it. */
static void make_masters(ms_tape *tape, ms_zero3 *all)
{
    ms_tensor before = 0;
    for (uint32_t i = 0; i < all->groups.count && !ms_idle(tape); i++) {
        ms_zero3_group *group = &all->groups.items[i];
        ms_tensor converted = ms_zero_vector(tape, group->elements, MS_DTYPE_F32, NULL, 0);
        ms_release(tape, before);
        before = converted;
        ms_tensor master = ms_zero_vector(tape, group->elements, MS_DTYPE_F32, "fp32 partition",
                                          MS_CATEGORY_WEIGHT);
        group->master = ms_zero_add_master(tape, master);
    }
    ms_release(tape, before);
}

static uint64_t largest_group(const ms_zero3 *all)
{
    uint64_t largest = 0;
    for (uint32_t i = 0; i < all->groups.count; i++)
        if (all->groups.items[i].elements > largest)
            largest = all->groups.items[i].elements;
    return largest;
}

/* Each parameter is gathered once, for its hook. */
static void gather_once(ms_tape *tape, ms_zero3 *all)
{
    for (uint32_t i = 0; i < all->order.count && !ms_idle(tape); i++) {
        const ms_zero3_parameter *row = &all->parameters.items[all->order.items[i]];
        ms_zero3_pad(tape, all, all->order.items[i], true);
        ms_storage_refill(tape, row->placed.tensor);
        if (all->parallel->zero.offloads_parameters)
            ms_release(tape, ms_zero_vector(tape, row->shard, all->dtype, NULL, 0));
        ms_storage_empty(tape, row->placed.tensor);
    }
}

static void make_optimizer(ms_tape *tape, ms_zero3 *all, ms_zero_tensors *shards)
{
    uint64_t sum = ms_zero3_trained_elements(all);
    barrier(tape, all);
    ms_zero_drop(tape, shards);
    if (!all->parallel->zero.offloads_parameters)
        ms_trace_event(tape, MS_EVENT_EMPTY_CACHE, 0);
    if (!all->parallel->zero.offloads_parameters)
        all->shards =
            ms_zero_vector(tape, sum, all->dtype, "shards of parameters", MS_CATEGORY_WEIGHT);
    make_groups(tape, all);
    bool is_here = !all->parallel->zero.offloads_optimizer;
    if (is_here)
        make_masters(tape, all);
    barrier(tape, all);
    if (is_here)
        ms_release(tape, ms_zero_vector(tape, largest_group(all), MS_DTYPE_F32, NULL, 0));
    barrier(tape, all);
    if (all->parallel->zero.contiguous_gradients)
        all->bucket = ms_zero_vector(tape, all->parallel->zero.reduce_bucket_size, all->dtype,
                                     "bucket of gradients", MS_CATEGORY_GRADIENT);
    ms_dtype of_gradients = all->parallel->zero.accumulates_f32 ? MS_DTYPE_F32 : all->dtype;
    if (is_here)
        all->gradients = ms_zero_vector(tape, sum, of_gradients, "gradients of the shards",
                                        MS_CATEGORY_GRADIENT);
}

void ms_zero3_build(ms_tape *tape, ms_zero3 *all)
{
    ms_zero_tensors shards = {0};
    if (tape->parameters.count)
        all->dtype = (ms_dtype)ms_info(tape, placed(tape, 0).tensor)->dtype;
    list_parameters(tape, all);
    check_pads(tape, all);
    for (uint32_t i = 0; i < all->parameters.count && tape->is_meta; i++)
        ms_storage_empty(tape, all->parameters.items[i].placed.tensor);
    for (uint32_t i = 0; i < tape->module_buffers.count && tape->is_meta; i++)
        ms_storage_empty(tape, tape->module_buffers.items[i]);
    tape->is_meta = false;
    list_modules(tape, all);
    find_tied_head(tape, all);
    make_padded(tape, all);
    make_shards(tape, all, &shards);
    for (uint32_t i = 0; i < tape->module_buffers.count && is_made_by_module(all); i++)
        ms_storage_refill(tape, tape->module_buffers.items[i]);
    make_tied_head(tape, all);
    make_adapter(tape, all, &shards);
    if (!all->parallel->zero.offloads_optimizer) /* inf_or_nan_tracker */
        all->overflow = ms_zero_vector(tape, 1, MS_DTYPE_U8, NULL, 0);
    make_optimizer(tape, all, &shards);
    ms_vec_free(&shards);
    gather_once(tape, all);
}
