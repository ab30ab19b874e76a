/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The compute buffers: the graph of the architecture, through the rule of ggml's allocator.
 */
#ifndef MS_SERVE_INFER_LLAMA_COMPUTE_H
#define MS_SERVE_INFER_LLAMA_COMPUTE_H

#include "serve/infer/llama/buffers.h"

/* Where flash attention is left to llama.cpp, it is off when an operator of it would run elsewhere
 * than its layer, unless quantised values need it. */
ms_status ms_llama_flash_resolve(ms_llama_run *run, ms_error *err);
/* The compute buffers: the graph of the architecture, by ggml's scheduler and allocator. */
ms_status ms_llama_compute_add(const ms_llama_run *run, ms_infer_result *result, ms_error *err);
/* llama.cpp's own estimate of them, without loading: of each device, then of the host, at most
 * MS_LLAMA_MAX_DEVICES + 1. */
ms_status ms_llama_compute_estimate(const ms_llama_run *run, uint64_t *bytes, ms_error *err);
/* Scratch memory of CUDA kernels for a prompt, and the workspace of cuBLAS. */
ms_status ms_llama_pool_add(const ms_llama_run *run, ms_infer_result *result, ms_error *err);

#endif
