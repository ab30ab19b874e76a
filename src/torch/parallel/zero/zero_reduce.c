/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Gradients of stages 1 and 2. Each is copied into a bucket; a full bucket is divided by the ranks
 * that update its pieces, and reduced in a copy unless all of it is for one rank. Then the
 * gradients of this rank's partition are copied out, whole. A gradient larger than a bucket is
 * reduced where it is.
 */
#include "torch/parallel/zero/zero.h"

#include "core/trace/build.h"

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

void ms_zero_collect(ms_tape *tape, ms_zero12 *all, uint32_t index)
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

void ms_zero_finish_backward(ms_tape *tape, ms_zero12 *all)
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
