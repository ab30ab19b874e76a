/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Experts in mxfp4, which Triton's kernels run on Hopper: what files have, what is made of it, and
 * what a step takes.
 */
#ifndef MS_SERVE_INFER_VLLM_QUANTIZED_MXFP4_H
#define MS_SERVE_INFER_VLLM_QUANTIZED_MXFP4_H

#include "serve/infer/vllm/setup.h"
#include "serve/infer/vllm/tape.h"

enum { MS_VLLM_MXFP4_TENSORS = 6 };

/* The tensors of a layer's experts that are replaced when all are loaded. */
typedef struct ms_vllm_mxfp4 {
    ms_block loaded[MS_VLLM_MXFP4_TENSORS];
} ms_vllm_mxfp4;

ms_vllm_mxfp4 ms_vllm_mxfp4_build(const ms_vllm_setup *setup, ms_vllm_tape *tape);
void ms_vllm_mxfp4_finish(const ms_vllm_setup *setup, ms_vllm_tape *tape,
                          const ms_vllm_mxfp4 *experts);
/* Routing and both products; returns the result. */
ms_block ms_vllm_mxfp4_run(const ms_vllm_setup *setup, ms_vllm_tape *tape);

#endif
