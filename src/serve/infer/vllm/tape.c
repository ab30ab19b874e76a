/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "serve/infer/vllm/tape.h"

#include "serve/infer/kit/result.h"

ms_status ms_vllm_tape_begin(ms_vllm_tape *tape, ms_error *err)
{
    const ms_allocator_options options = {.kind = MS_ALLOCATOR_CUDA};
    *tape = (ms_vllm_tape){.allocator = ms_allocator_create(&options), .status = MS_OK};
    return tape->allocator ? MS_OK : ms_infer_no_memory(err);
}

void ms_vllm_tape_end(ms_vllm_tape *tape)
{
    ms_allocator_free(tape->allocator);
}

ms_block ms_vllm_take(ms_vllm_tape *tape, ms_size bytes)
{
    ms_block block = 0;
    if (tape->status != MS_OK)
        return 0;
    tape->status = bytes.overflow ? MS_ERR_OVERFLOW
                                  : ms_allocator_allocate(tape->allocator, bytes.bytes, 0, &block);
    if (ms_vllm_allocated(tape) > tape->peak_bytes)
        tape->peak_bytes = ms_vllm_allocated(tape);
    return block;
}

void ms_vllm_give(ms_vllm_tape *tape, ms_block block)
{
    if (tape->status == MS_OK)
        ms_allocator_release(tape->allocator, block);
}

uint64_t ms_vllm_allocated(const ms_vllm_tape *tape)
{
    return ms_allocator_stats_of(tape->allocator)->allocated_bytes;
}

void ms_vllm_peak_reset(ms_vllm_tape *tape)
{
    tape->peak_bytes = ms_vllm_allocated(tape);
}

ms_status ms_vllm_tape_check(const ms_vllm_tape *tape, ms_error *err)
{
    if (tape->status == MS_ERR_NOMEM)
        return ms_infer_no_memory(err);
    if (tape->status != MS_OK)
        return ms_fail(err, MS_ERR_OVERFLOW, "the model's tensors exceed the address space");
    return MS_OK;
}
