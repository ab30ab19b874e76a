/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The runner's own tensors: for the inputs of a step, for requests, for sampling. vLLM's sum of
 * what its budget is spent on has none of them.
 */
#ifndef MS_SERVE_INFER_VLLM_BUFFERS_H
#define MS_SERVE_INFER_VLLM_BUFFERS_H

#include "serve/infer/vllm/setup.h"
#include "serve/infer/vllm/tape.h"

/* Those made before the model is loaded, and after. */
void ms_vllm_buffers_before(const ms_vllm_setup *setup, ms_vllm_tape *tape);
void ms_vllm_buffers_after(const ms_vllm_setup *setup, const ms_vllm_rank *rank,
                           ms_vllm_tape *tape);

#endif
