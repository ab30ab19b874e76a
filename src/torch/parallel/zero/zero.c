/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * DeepSpeed ZeRO, stages 1 and 2: where it takes part in a step.
 */
#include "torch/parallel/zero/zero.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/trace/build.h"
#include "torch/parallel/kit/kinds.h"

/* ---- zero reduce ---- */

/* Gradients of stages 1 and 2. Each is copied into a bucket; a full bucket is divided by the
 * ranks that update its pieces, and reduced in a copy unless all of it is for one rank. Then
 * the gradients of this rank's partition are copied out, whole. A gradient larger than a
 * bucket is reduced where it is. */

static void record_use(ms_tape *tape, const ms_zero12 *all, ms_tensor tensor)
{
    if (!all->parallel->zero.overlap_comm || ms_idle(tape) || !tensor)
        return;
    if (ms_trace_add_use(tape->trace, ms_info(tape, tensor)->storage, all->stream) == MS_NONE)
        ms_tape_fail(tape, MS_ERR_NOMEM);
}

/* The gradient becomes a view of `base`; what it had is released. */
static void move_gradient(ms_tape *tape, ms_parameter *parameter, ms_tensor base)
{
    const ms_tensor_info info = *ms_info(tape, parameter->tensor);
    ms_tensor view = ms_alias(tape, base, info.shape, info.strides);
    ms_retain(tape, view);
    ms_tensor before = parameter->grad;
    parameter->grad = view;
    ms_release(tape, before);
}

static void drop_gradient(ms_tape *tape, ms_parameter *parameter)
{
    ms_tensor grad = parameter->grad;
    parameter->grad = 0;
    ms_release(tape, grad);
}

static void make_buffers(ms_tape *tape, ms_zero12 *all)
{
    const ms_zero *zero = &all->parallel->zero;
    for (uint32_t i = 0; i < (zero->overlap_comm ? 2 : 1) && zero->contiguous_gradients; i++)
        all->buffers[i] = ms_zero_vector(tape, zero->reduce_bucket_size, all->dtype,
                                         "bucket of gradients", MS_CATEGORY_GRADIENT);
    all->current = 0;
    all->has_buffers = true;
}

/* ---- a bucket ---- */

/* Pieces of a bucket that are reduced at a time. */
typedef struct reduction {
    uint64_t elements, pieces;
    bool has_ours;
} reduction;

/* Pieces that are reduced in one tensor; a single piece is reduced where it is. */
static void reduce_pieces(ms_tape *tape, ms_zero12 *all, ms_tensor source, reduction *r)
{
    if (!r->pieces || ms_idle(tape))
        return;
    uint64_t ranks = all->parallel->layout.shards;
    uint64_t bytes = r->elements * ms_dtype_bytes(all->dtype);
    bool is_copied = r->pieces > 1;
    ms_tensor copy = is_copied ? ms_zero_vector(tape, r->elements, all->dtype,
                                                "bucket being reduced", MS_CATEGORY_GRADIENT)
                               : 0;
    uint32_t work =
        ms_collective(tape, MS_WORK_ALL_REDUCE, all->stream, 2 * (bytes / ranks * (ranks - 1)));
    if (!all->parallel->zero.overlap_comm)
        ms_work_wait(tape, work);
    for (uint32_t i = 0; i < all->widened.count && !ms_idle(tape); i++)
        ms_release(tape, ms_zero_vector(tape, all->widened.items[i], MS_DTYPE_F32, NULL, 0));
    all->widened.count = 0;
    if (r->has_ours || !is_copied || all->parallel->zero.offloads_optimizer)
        record_use(tape, all, source);
    ms_release(tape, copy);
    *r = (reduction){0};
}

/* Without contiguous gradients all of the bucket's are flattened and reduced together. */
static void reduce_flattened(ms_tape *tape, ms_zero12 *all)
{
    reduction r = {.elements = all->collected, .pieces = all->bucket.count};
    reduce_pieces(tape, all, tape->parameters.items[all->bucket.items[0]].grad, &r);
}

/* A partition's gradient in fp32, once one of its gradients is reduced. */
static void make_wide(ms_tape *tape, const ms_zero12 *all)
{
    for (uint32_t i = 0; i < all->bucket.count && all->parallel->zero.accumulates_f32; i++) {
        ms_zero_group *group = ms_zero_group_of(all, all->bucket.items[i]);
        if (all->places.items[all->bucket.items[i]].is_ours && !group->wide)
            group->wide = ms_zero_vector(tape, group->partition, MS_DTYPE_F32, "fp32 gradients",
                                         MS_CATEGORY_GRADIENT);
    }
}

/* Divides the bucket into pieces by the ranks that update them; neighbours for the same rank are
 * one piece. Pieces are grouped until they exceed a bucket's size. */
static void all_reduce(ms_tape *tape, ms_zero12 *all, ms_tensor source)
{
    reduction r = {0};
    uint64_t previous = UINT64_MAX, piece = 0;
    tape->stream = ms_zero_pool(all);
    make_wide(tape, all);
    for (uint32_t i = 0; i < all->bucket.count; i++) {
        const ms_zero_place *place = &all->places.items[all->bucket.items[i]];
        uint64_t end = place->first + place->elements;
        uint64_t partition = all->groups.items[place->group].partition;
        for (uint64_t at = place->first; at < end; at += piece) {
            uint64_t rank = at / partition, border = (rank + 1) * partition;
            piece = (end < border ? end : border) - at;
            bool is_widened = rank == all->parallel->rank && all->parallel->zero.accumulates_f32;
            bool is_new = rank != previous || is_widened;
            if (is_new && r.elements > all->parallel->zero.reduce_bucket_size)
                reduce_pieces(tape, all, source, &r);
            if (is_widened && !ms_vec_push(&all->widened, piece))
                ms_tape_fail(tape, MS_ERR_NOMEM);
            r.pieces += is_new;
            r.elements += piece;
            r.has_ours |= rank == all->parallel->rank;
            previous = rank;
        }
    }
    reduce_pieces(tape, all, source, &r);
    tape->stream = MS_STREAM_OPERATORS;
}

static uint64_t elements_of_ours(const ms_zero12 *all)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < all->places.count; i++)
        sum += all->places.items[i].is_ours ? all->places.items[i].elements : 0;
    return sum;
}

static void copy_out(ms_tape *tape, ms_zero12 *all, uint32_t index)
{
    if (!all->ours) {
        tape->stream = ms_zero_pool(all);
        all->ours = ms_zero_vector(tape, elements_of_ours(all), all->dtype,
                                   "gradients of the partition", MS_CATEGORY_GRADIENT);
        tape->stream = MS_STREAM_OPERATORS;
    }
    move_gradient(tape, &tape->parameters.items[index], all->ours);
}

/* reduce_ipg_grads */
static void reduce_bucket(ms_tape *tape, ms_zero12 *all)
{
    if (!all->bucket.count || ms_idle(tape))
        return;
    ms_tensor first = tape->parameters.items[all->bucket.items[0]].grad;
    ms_tensor held = all->is_oversized ? first : 0; /* a local variable */
    ms_retain(tape, held);
    if (all->parallel->zero.contiguous_gradients)
        all_reduce(tape, all, held ? held : all->buffers[all->current]);
    else
        reduce_flattened(tape, all);
    for (uint32_t i = 0; i < all->bucket.count && !ms_idle(tape); i++) {
        uint32_t index = all->bucket.items[i];
        bool is_ours = all->places.items[index].is_ours;
        if (is_ours && all->parallel->zero.offloads_optimizer)
            ms_zero_offload_gradient(tape, all, index);
        else if (is_ours && all->parallel->zero.contiguous_gradients &&
                 !all->parallel->zero.accumulates_f32)
            copy_out(tape, all, index);
        else if (!is_ours && all->parallel->layout.stage == 2)
            drop_gradient(tape, &tape->parameters.items[index]);
    }
    ms_release(tape, held);
    all->bucket.count = 0;
    all->collected = 0;
    all->is_oversized = false;
}

/* grad.data = grad.clone() */
static void clone_gradient(ms_tape *tape, ms_zero12 *all, ms_parameter *parameter,
                           uint64_t elements)
{
    ms_tensor clone = ms_zero_vector(tape, elements, all->dtype, "gradient", MS_CATEGORY_GRADIENT);
    if (clone)
        move_gradient(tape, parameter, clone);
    ms_release(tape, clone);
}

/* reduce_independent_p_g_buckets_and_remove_grads */
static void add_to_bucket(ms_tape *tape, ms_zero12 *all, uint32_t index)
{
    const ms_zero *zero = &all->parallel->zero;
    ms_parameter *parameter = &tape->parameters.items[index];
    uint64_t elements = all->places.items[index].elements;
    if (all->collected + elements > zero->reduce_bucket_size) {
        reduce_bucket(tape, all);
        if (zero->overlap_comm)
            all->current = 1 - all->current;
    }
    all->is_oversized = zero->contiguous_gradients && elements > zero->reduce_bucket_size;
    if (zero->contiguous_gradients && !all->is_oversized)
        move_gradient(tape, parameter, all->buffers[all->current]);
    else if (zero->offloads_optimizer)
        clone_gradient(tape, all, parameter, elements);
    all->collected += elements;
    if (!ms_vec_push(&all->bucket, index))
        ms_tape_fail(tape, MS_ERR_NOMEM);
}

/* Gradients (zero_reduce.c): one is complete; backward is over. */
static void zero_collect(ms_tape *tape, ms_zero12 *all, uint32_t index)
{
    if (!all->has_buffers)
        make_buffers(tape, all);
    bool is_now =
        all->parallel->layout.stage == 2 || (all->parallel->zero.overlap_comm && all->is_last);
    if (is_now && !ms_idle(tape))
        add_to_bucket(tape, all, index);
}

/* ---- the end of backward ---- */

/* The gradients of this rank's parameters: taken over, or added to those of earlier micro-steps. */
static void keep_ours(ms_tape *tape, const ms_zero12 *all, ms_zero_group *group)
{
    bool is_first = group->kept.count == 0;
    for (uint32_t i = group->first; i < group->end && !ms_idle(tape); i++) {
        uint32_t index = all->order.items[i];
        ms_tensor grad = tape->parameters.items[index].grad;
        if (!all->places.items[index].is_ours || !is_first)
            continue;
        if (!grad) { /* no gradient arrived: zeros */
            const ms_tensor_info *info = ms_info(tape, tape->parameters.items[index].tensor);
            grad = ms_empty(tape, info->shape, all->dtype);
        }
        ms_retain(tape, grad);
        if (!ms_vec_push(&group->kept, grad))
            ms_tape_fail(tape, MS_ERR_NOMEM);
    }
}

/* Pieces of the gradients that lie in the partition, and a padding. */
static void average(ms_tape *tape, const ms_zero12 *all, ms_zero_group *group)
{
    uint64_t begin = all->parallel->rank * group->partition, filled = 0;
    for (uint32_t i = group->first, k = 0; i < group->end && !ms_idle(tape); i++) {
        const ms_zero_place *place = &all->places.items[all->order.items[i]];
        if (!place->is_ours)
            continue;
        uint64_t skipped = place->first < begin ? begin - place->first : 0;
        uint64_t left = group->partition - filled, elements = place->elements - skipped;
        elements = elements > left ? left : elements;
        if (!ms_vec_push(&group->averaged, ms_zero_narrow(tape, group->kept.items[k++], elements)))
            ms_tape_fail(tape, MS_ERR_NOMEM);
        filled += elements;
    }
    ms_zero_drop(tape, &group->kept);
    if (filled == group->partition)
        return;
    ms_tensor padding = ms_zero_vector(tape, group->partition - filled, all->dtype, NULL, 0);
    if (!ms_vec_push(&group->averaged, padding))
        ms_tape_fail(tape, MS_ERR_NOMEM);
}

static void release_buffers(ms_tape *tape, ms_zero12 *all)
{
    for (uint32_t i = 2; i-- > 0;) { /* list.clear() begins at the end */
        ms_release(tape, all->buffers[i]);
        all->buffers[i] = 0;
    }
    ms_release(tape, all->ours);
    all->ours = 0;
    all->has_buffers = false;
}

static void zero_finish_backward(ms_tape *tape, ms_zero12 *all)
{
    bool reduces_here = all->parallel->layout.stage == 1 && !all->parallel->zero.overlap_comm;
    if (all->parallel->layout.stage == 1 && !all->is_last)
        return;
    for (uint32_t i = 0; i < all->order.count && reduces_here && !ms_idle(tape); i++)
        if (tape->parameters.items[all->order.items[i]].grad)
            add_to_bucket(tape, all, all->order.items[i]);
    reduce_bucket(tape, all);
    bool keeps = !all->parallel->zero.offloads_optimizer && !all->parallel->zero.accumulates_f32;
    for (uint32_t i = 0; i < all->groups.count && keeps; i++) {
        keep_ours(tape, all, &all->groups.items[i]);
        if (all->is_last)
            average(tape, all, &all->groups.items[i]);
    }
    release_buffers(tape, all);
    for (uint32_t i = 0; i < all->places.count; i++)
        drop_gradient(tape, &tape->parameters.items[i]);
}

/* ---- zero optimizer ---- */

/* Parameters by size, the largest first, each to the rank that has least so far. */

typedef struct assigned {
    uint32_t parameter;
    uint64_t elements, rank;
} assigned;

typedef struct zero_optimizer {
    ms_vec(assigned) all; /* by size */
    ms_vec(uint32_t) own; /* this rank's */
} zero_optimizer;

static void zero_optimizer_free_state(void *state)
{
    zero_optimizer *zero = state;
    ms_vec_free(&zero->all);
    ms_vec_free(&zero->own);
}

static const ms_state_kind zero_optimizer_kind = {.bytes = sizeof(zero_optimizer),
                                                  .free = zero_optimizer_free_state};

/* The largest first; equal ones in their order. */
static int compare(const void *a, const void *b)
{
    const assigned *x = a, *y = b;
    if (x->elements != y->elements)
        return x->elements > y->elements ? -1 : 1;
    return x->parameter < y->parameter ? -1 : x->parameter > y->parameter;
}

static uint64_t least_loaded(const uint64_t *loads, uint64_t ranks)
{
    uint64_t least = 0;
    for (uint64_t rank = 1; rank < ranks; rank++)
        if (loads[rank] < loads[least])
            least = rank;
    return least;
}

static void assign(ms_tape *tape, zero_optimizer *zero, const ms_parallel *parallel)
{
    uint64_t ranks = parallel->layout.copies;
    uint64_t *loads = calloc(ranks, sizeof *loads);
    if (!loads) {
        ms_tape_fail(tape, MS_ERR_NOMEM);
        return;
    }
    for (uint32_t i = 0; i < zero->all.count; i++) {
        assigned *row = &zero->all.items[i];
        row->rank = least_loaded(loads, ranks);
        loads[row->rank] += row->elements;
        if (row->rank == parallel->rank && !ms_vec_push(&zero->own, row->parameter))
            ms_tape_fail(tape, MS_ERR_NOMEM);
    }
    free(loads);
}

/* ---- parameters as views ---- */

static void move_into(ms_tape *tape, ms_tensor buffer, ms_tensor parameter)
{
    const ms_tensor_info info = *ms_info(tape, parameter);
    ms_tensor view = ms_alias(tape, buffer, info.shape, info.strides);
    if (!view)
        return;
    ms_storage_swap(tape, parameter, view);
    ms_info(tape, parameter)->is_view = true;
    ms_consume(tape, view);
}

static void make_buffer(ms_tape *tape, const zero_optimizer *zero, uint64_t rank)
{
    uint64_t elements = 0;
    ms_dtype dtype = MS_DTYPE_F32;
    for (uint32_t i = 0; i < zero->all.count; i++) {
        const assigned *row = &zero->all.items[i];
        if (row->rank != rank)
            continue;
        elements += row->elements;
        ms_tensor tensor = tape->parameters.items[row->parameter].tensor;
        dtype = (ms_dtype)ms_info(tape, tensor)->dtype;
    }
    const bool is_empty = elements == 0; /* then PyTorch has one number in its place */
    ms_tensor buffer =
        ms_empty_bytes(tape, (is_empty ? 1 : elements) * ms_dtype_bytes(dtype), dtype);
    ms_name_storage(tape, buffer, "buffer of parameters",
                    is_empty ? MS_CATEGORY_BUFFER : MS_CATEGORY_WEIGHT);
    ms_retain(tape, buffer);
    for (uint32_t i = 0; i < zero->all.count && !ms_idle(tape); i++)
        if (zero->all.items[i].rank == rank)
            move_into(tape, buffer, tape->parameters.items[zero->all.items[i].parameter].tensor);
}

/* ---- */

void ms_zero_optimizer_build(ms_tape *tape)
{
    const ms_parallel *parallel = ms_parallel_of(tape);
    zero_optimizer *zero = ms_hooks_state(tape, &zero_optimizer_kind);
    if (!zero)
        return;
    for (uint32_t i = 0; i < tape->parameters.count; i++) {
        const ms_shape shape = ms_info(tape, tape->parameters.items[i].tensor)->shape;
        if (!ms_vec_push(&zero->all, (assigned){.parameter = i, .elements = ms_elements(&shape)}))
            ms_tape_fail(tape, MS_ERR_NOMEM);
    }
    if (zero->all.count)
        qsort(zero->all.items, zero->all.count, sizeof *zero->all.items, compare);
    assign(tape, zero, parallel);
    for (uint64_t rank = 0; rank < parallel->layout.copies && parallel->has_parameter_views; rank++)
        make_buffer(tape, zero, rank);
}

const uint32_t *ms_zero_optimizer_parameters(const ms_tape *tape, uint32_t *count)
{
    static const uint32_t none;
    const zero_optimizer *zero = ms_hooks_find_state(tape, &zero_optimizer_kind);
    *count = zero ? zero->own.count : 0;
    return !zero ? NULL : zero->own.items ? zero->own.items : &none;
}

/* ---- zero groups ---- */

/* Parameters are told by their names and by the class of their module. */

static bool contains(const char *name, const char *word)
{
    size_t length = strlen(word);
    for (; *name; name++)
        if (strncasecmp(name, word, length) == 0)
            return true;
    return false;
}

static bool ends_with(const char *name, const char *word)
{
    size_t length = strlen(name), end = strlen(word);
    return length >= end && strcasecmp(name + length - end, word) == 0;
}

/* A part of a parameter's name, between dots. */
static bool is_exempt(const char *part)
{
    static const char *const words[] = {"bias", "layernorm", "rmsnorm"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (contains(part, words[i]))
            return true;
    return strcasecmp(part, "norm") == 0 || ends_with(part, "_norm");
}

uint32_t ms_zero_group_number(const ms_tape *tape, const ms_zero *zero, uint32_t index)
{
    const ms_trace *trace = tape->trace;
    const ms_parameter *parameter = &tape->parameters.items[index];
    if (!zero->has_decay_groups)
        return 0;
    bool is_exempted = parameter->is_layer_norm || is_exempt(trace->names.items[parameter->name]);
    for (uint32_t scope = parameter->scope; scope != MS_NONE && !is_exempted;
         scope = trace->scopes.items[scope].parent)
        is_exempted = is_exempt(trace->names.items[trace->scopes.items[scope].name]);
    return is_exempted ? 1 : 0;
}

/* ---- zero flat ---- */

/* Flattening: the trained parameters of a group move into one tensor, padded to a multiple of
 * twice the ranks. */

enum { ALIGNMENT = 2 }; /* elements: NCCL's send buffers begin at multiples of 4 bytes */

static void list_parameters(ms_tape *tape, ms_zero12 *all)
{
    for (uint32_t i = 0; i < tape->parameters.count; i++) {
        const ms_parameter *parameter = &tape->parameters.items[i];
        const ms_zero_place place = {.group = ms_zero_group_number(tape, &all->parallel->zero, i),
                                     .elements =
                                         ms_elements(&ms_info(tape, parameter->tensor)->shape)};
        if (!ms_vec_push(&all->places, place))
            ms_tape_fail(tape, MS_ERR_NOMEM);
    }
}

/* DeepSpeed drops groups without parameters. */
static void make_groups(ms_tape *tape, ms_zero12 *all)
{
    for (uint32_t number = 0; number < MS_ZERO_MOST_GROUPS && !ms_idle(tape); number++) {
        ms_zero_group group = {.first = all->order.count, .master = MS_NONE};
        for (uint32_t i = 0; i < all->places.count; i++) {
            ms_zero_place *place = &all->places.items[i];
            if (place->group != number)
                continue;
            if (!ms_vec_push(&all->order, i))
                ms_tape_fail(tape, MS_ERR_NOMEM);
        }
        group.end = all->order.count;
        for (uint32_t i = group.first; i < group.end; i++)
            all->places.items[all->order.items[i]].group = all->groups.count;
        if (group.end > group.first && !ms_vec_push(&all->groups, group))
            ms_tape_fail(tape, MS_ERR_NOMEM);
    }
}

static uint64_t place_parameters(ms_zero12 *all, const ms_zero_group *group)
{
    uint64_t first = 0;
    for (uint32_t i = group->first; i < group->end; i++) {
        ms_zero_place *place = &all->places.items[all->order.items[i]];
        place->first = first;
        first += place->elements;
    }
    return first;
}

/* A part of it is in the partition if it begins there, or before it and reaches into it. */
static void mark_ours(ms_zero12 *all, const ms_zero_group *group)
{
    uint64_t begin = all->parallel->rank * group->partition, end = begin + group->partition;
    for (uint32_t i = group->first; i < group->end; i++) {
        ms_zero_place *place = &all->places.items[all->order.items[i]];
        bool begins = place->first >= begin && place->first < end;
        place->is_ours = begins || (place->first < begin && begin < place->first + place->elements);
    }
}

/* parameter.data = flat.narrow(...).view(shape): the memory that it had goes. */
static void move_parameter(ms_tape *tape, ms_tensor flat, ms_tensor parameter)
{
    const ms_tensor_info info = *ms_info(tape, parameter);
    ms_tensor view = ms_alias(tape, flat, info.shape, info.strides);
    if (!view)
        return;
    ms_storage_swap(tape, parameter, view);
    ms_consume(tape, view);
}

static void flatten(ms_tape *tape, ms_zero12 *all, ms_zero_group *group)
{
    uint64_t ranks = all->parallel->layout.shards, unit = ALIGNMENT * ranks;
    uint64_t elements = place_parameters(all, group);
    uint64_t padding = (unit - elements % unit) % unit;
    group->partition = (elements + padding) / ranks;
    mark_ours(all, group);
    ms_trace_event(tape, MS_EVENT_EMPTY_CACHE, 0);
    ms_tensor pad = padding ? ms_zero_vector(tape, padding, all->dtype, NULL, 0) : 0;
    group->flat =
        ms_zero_vector(tape, elements + padding, all->dtype, "flat parameters", MS_CATEGORY_WEIGHT);
    ms_release(tape, pad);
    for (uint32_t i = group->first; i < group->end && !ms_idle(tape); i++)
        move_parameter(tape, group->flat, tape->parameters.items[all->order.items[i]].tensor);
    ms_tensor copy = ms_zero_vector(tape, group->partition, all->dtype, NULL, 0);
    if (all->parallel->zero.offloads_optimizer) {
        ms_release(tape, copy);
        return;
    }
    ms_tensor master =
        ms_zero_vector(tape, group->partition, MS_DTYPE_F32, "fp32 partition", MS_CATEGORY_WEIGHT);
    ms_release(tape, copy);
    group->master = ms_zero_add_master(tape, master);
}

/* Gradients for optimizers whose constructors need them. */
static void make_first_gradients(ms_tape *tape, const ms_zero12 *all)
{
    ms_zero_tensors gradients = {0};
    for (uint32_t i = 0; i < all->groups.count && !ms_idle(tape); i++)
        if (!ms_vec_push(&gradients, ms_zero_vector(tape, all->groups.items[i].partition,
                                                    MS_DTYPE_F32, NULL, 0)))
            ms_tape_fail(tape, MS_ERR_NOMEM);
    ms_zero_drop(tape, &gradients);
    ms_vec_free(&gradients);
}

/* Flattens the parameters of each group and makes its fp32 partition (zero_flat.c). */
static void zero_flatten(ms_tape *tape, ms_zero12 *all)
{
    list_parameters(tape, all);
    make_groups(tape, all);
    if (!all->groups.count || ms_idle(tape))
        return;
    all->dtype = (ms_dtype)ms_info(tape, tape->parameters.items[0].tensor)->dtype;
    for (uint32_t i = 0; i < all->groups.count && !ms_idle(tape); i++)
        flatten(tape, all, &all->groups.items[i]);
    if (all->parallel->zero.offloads_optimizer)
        ms_zero_offload_build(tape, all);
    else
        make_first_gradients(tape, all);
}

/* ---- zero ---- */

static void install(ms_tape *tape, void *state);

static void free_state(void *state)
{
    ms_zero12 *all = state;
    for (uint32_t i = 0; i < all->groups.count; i++) {
        ms_vec_free(&all->groups.items[i].kept);
        ms_vec_free(&all->groups.items[i].averaged);
    }
    ms_vec_free(&all->groups);
    ms_vec_free(&all->order);
    ms_vec_free(&all->places);
    ms_vec_free(&all->bucket);
    ms_vec_free(&all->widened);
    ms_vec_free(&all->norms);
}

static const ms_state_kind kind = {
    .bytes = sizeof(ms_zero12), .install = install, .free = free_state};

static ms_zero12 *zero12_of(ms_tape *tape)
{
    return ms_hooks_find_state(tape, &kind);
}

static void accumulated(ms_tape *tape, void *context, uint32_t index)
{
    ms_zero12 *all = context;
    if (index < all->places.count && !ms_idle(tape))
        zero_collect(tape, all, index);
}

static void install(ms_tape *tape, void *state)
{
    ms_zero12 *all = state;
    all->parallel = ms_parallel_of(tape);
    all->stream = ms_collective_stream(tape, "reductions", all->parallel->layout.shards,
                                       all->parallel->layout.shards);
    ms_hooks_push_gradient(tape, (ms_gradient_hook){.accumulated = accumulated, .context = state});
}

static void build_end(ms_tape *tape)
{
    ms_zero12 *all = ms_hooks_state(tape, &kind);
    if (all)
        zero_flatten(tape, all);
}

static void micro_step(ms_tape *tape, bool is_last)
{
    zero12_of(tape)->is_last = is_last;
}

static void backward_ends(ms_tape *tape)
{
    zero_finish_backward(tape, zero12_of(tape));
}

static void update_begins(ms_tape *tape)
{
    ms_zero12 *all = zero12_of(tape);
    if (all->parallel->zero.offloads_optimizer)
        ms_zero_offload_update(tape, all);
    else
        ms_zero_prepare_update(tape, all);
}

static bool update_ends(ms_tape *tape)
{
    ms_zero12 *all = zero12_of(tape);
    return !all->parallel->zero.offloads_optimizer && ms_zero_finish_update(tape, all);
}

static uint64_t host_bytes(ms_tape *tape, uint64_t states)
{
    return ms_zero_offload_host_bytes(zero12_of(tape), states);
}

/* Stage 1 keeps all of them until the last reduction, stage 2 its partition, the host all there is.
 */
static uint64_t gradient_bytes(ms_tape *tape)
{
    const ms_zero12 *all = zero12_of(tape);
    if (all->parallel->zero.offloads_optimizer)
        return 0;
    uint64_t ranks = all->parallel->layout.stage == 1 ? all->parallel->layout.shards : 1;
    ms_dtype dtype = all->parallel->zero.accumulates_f32 ? MS_DTYPE_F32 : all->dtype;
    return ms_zero_partitions(all) * ranks * ms_dtype_bytes(dtype);
}

const ms_parallel_technique ms_parallel_zero = {.build_end = build_end,
                                                .micro_step = micro_step,
                                                .backward_ends = backward_ends,
                                                .update_begins = update_begins,
                                                .update_ends = update_ends,
                                                .host_bytes = host_bytes,
                                                .gradient_bytes = gradient_bytes,
                                                .is_engine = true};
