/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Ranks that train together, as treatments of the step: what shards a parameter, gathers it or
 * reduces a gradient are hooks at modules and gradients. Families know nothing of it. One rank is
 * simulated. Tensor parallelism is of the model (model/blocks/tensor_parallel.h); here its parts
 * are made. Sources of the rules: PyTorch 2.11's torch/distributed/fsdp/_fully_shard and
 * torch/nn/parallel/distributed.py with its C++ reducer, as docs/semantics/parallel.md describes
 * them.
 */
#ifndef MS_TORCH_PARALLEL_PARALLEL_H
#define MS_TORCH_PARALLEL_PARALLEL_H

#include "input/config/run/layout.h"
#include "torch/autograd/tape.h"
#include "torch/parallel/kit/kinds.h"

/* Around the construction of the model: sharded parameters are built on no device first. With one
 * rank neither does anything; the layout must outlive the tape. */
void ms_parallel_build_begin(ms_tape *tape, const ms_parallel *parallel);

void ms_parallel_build_end(ms_tape *tape);

/* A micro-step begins; the last one of a step reduces gradients in any case. */
void ms_parallel_micro_step(ms_tape *tape, bool is_last);

/* Whether the forward that is about to begin returns copies of its outputs. */
bool ms_parallel_copies_outputs(const ms_tape *tape);

/* The gradient of the loss is there, and no node has run. */
void ms_parallel_backward_begins(ms_tape *tape);

/* Clips gradients in the technique's own way; false: it has none. */
bool ms_parallel_clip(ms_tape *tape);

/* Shards that the host keeps. */
ms_parallel_host ms_parallel_on_host(const ms_tape *tape);

/* The parameters that this rank's optimizer has, in its order; NULL: all. */
const uint32_t *ms_parallel_stepped(const ms_tape *tape, uint32_t *count);

/* The last node has run. */
void ms_parallel_backward_ends(ms_tape *tape);

/* `number`: among the stages of this rank, from 0. */
void ms_parallel_stage(ms_tape *tape, uint64_t number, ms_stage_moment moment);

/* Around the optimizer's step. */
void ms_parallel_update_begins(ms_tape *tape);

/* True: gradients of further parameters are there, which the optimizer steps next. */
bool ms_parallel_update_ends(ms_tape *tape);

/* Bytes on the host of an optimizer that keeps so many states for an element; 0: the technique has
 * none there. */
uint64_t ms_parallel_host_bytes(ms_tape *tape, uint64_t states);

/* Bytes of the gradients that stay on this rank until the update; false: those of all parameters.
 */
bool ms_parallel_gradient_bytes(ms_tape *tape, uint64_t *bytes);

/* Whether an engine of its own divides and scales the loss, and clips gradients with the update. */
bool ms_parallel_has_engine(const ms_tape *tape);

#endif
