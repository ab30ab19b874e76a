/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What an engine's worker allocates, in order, on PyTorch's allocator. A failure stays until it is
 * read; calls after it do nothing.
 */
#ifndef MS_SERVE_INFER_VLLM_TAPE_H
#define MS_SERVE_INFER_VLLM_TAPE_H

#include "core/allocator/allocator.h"
#include "base/size.h"

typedef struct ms_vllm_tape {
    ms_allocator *allocator;
    ms_status status;
    uint64_t peak_bytes; /* since the last ms_vllm_peak_reset */
    ms_block wide_table; /* of sines and cosines, which the first step replaces; 0: none */
} ms_vllm_tape;

ms_status ms_vllm_tape_begin(ms_vllm_tape *tape, ms_error *err);
void ms_vllm_tape_end(ms_vllm_tape *tape);

ms_block ms_vllm_take(ms_vllm_tape *tape, ms_size bytes);
void ms_vllm_give(ms_vllm_tape *tape, ms_block block);
uint64_t ms_vllm_allocated(const ms_vllm_tape *tape); /* bytes of blocks */
void ms_vllm_peak_reset(ms_vllm_tape *tape);
/* The failure, with a sentence. */
ms_status ms_vllm_tape_check(const ms_vllm_tape *tape, ms_error *err);

/* a * b * c * bytes. */
static inline ms_size ms_vllm_size(uint64_t a, uint64_t b, uint64_t c)
{
    return ms_size_mul(ms_size_mul(ms_size_of(a), b), c);
}

#endif
