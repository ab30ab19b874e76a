/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The profile run: a step of max_num_batched_tokens without a cache, then sampling for
 * max_num_seqs. The larger of two moments is its peak: the MLP of a layer, or the sampler.
 */
#ifndef MS_SERVE_INFER_VLLM_PROFILE_H
#define MS_SERVE_INFER_VLLM_PROFILE_H

#include "serve/infer/vllm/setup.h"
#include "serve/infer/vllm/tape.h"

/* *peak: bytes above what is allocated before. */
ms_status ms_vllm_profile(const ms_vllm_setup *setup, const ms_vllm_rank *rank, ms_vllm_tape *tape,
                          uint64_t *peak, ms_error *err);

#endif
