/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * FullyShardedDataParallel.clip_grad_norm_: norms of this rank's gradients in fp32, one by one.
 */
#include "torch/autograd/cuda_reduce.h"
#include "torch/parallel/fsdp1.h"

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

void ms_fsdp1_clip(ms_tape *tape, ms_fsdp1 *all)
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
