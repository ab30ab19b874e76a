/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Whole gradients on their way into the input of a reduction (torch._chunk_cat, TensorShape.cu).
 */
#include "torch/parallel/fsdp.h"
#include "torch/parallel/kit/packing.h"

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

void ms_fsdp_cat(ms_tape *tape, const ms_fsdp *all, const ms_fsdp_unit *unit,
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
