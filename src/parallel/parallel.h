/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Ranks that train together, as treatments of the step: what shards a parameter, gathers it or
 * reduces a gradient are hooks at modules and gradients. Families know nothing of it. One rank is
 * simulated. Tensor parallelism is of the model (model/blocks/tensor_parallel.h); here its parts
 * are made. Sources of the rules: PyTorch 2.11's torch/distributed/fsdp/_fully_shard and
 * torch/nn/parallel/distributed.py with its C++ reducer, as docs/semantics/parallel.md describes
 * them.
 */
#ifndef MS_PARALLEL_PARALLEL_H
#define MS_PARALLEL_PARALLEL_H

#include "autograd/tape.h"
#include "config/run/parallel.h"

/* Around the construction of the model: sharded parameters are built on no device first. With one
 * rank neither does anything; the layout must outlive the tape. */
void ms_parallel_build_begin(ms_tape *tape, const ms_parallel *parallel);
void ms_parallel_build_end(ms_tape *tape);

/* A micro-step begins; the last one of a step reduces gradients in any case. */
void ms_parallel_micro_step(ms_tape *tape, bool is_last);
/* The gradient of the loss is there, and no node has run. */
void ms_parallel_backward_begins(ms_tape *tape);

#endif
