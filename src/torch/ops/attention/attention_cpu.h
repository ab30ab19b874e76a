/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The CPU's flash attention: per-thread buffers during the kernel.
 */
#ifndef MS_TORCH_OPS_ATTENTION_ATTENTION_CPU_H
#define MS_TORCH_OPS_ATTENTION_ATTENTION_CPU_H

#include "torch/ops/attention/attention.h"

/* Allocates and frees the per-thread buffers of the CPU's flash kernel for that many queries and
 * keys.
 */
void ms_attention_cpu_forward_buffers(ms_tape *tape, uint64_t queries, uint64_t keys,
                                      uint64_t head_dim, ms_dtype dtype);
void ms_attention_cpu_backward_buffers(ms_tape *tape, uint64_t queries, uint64_t keys,
                                       ms_dtype dtype);

#endif
