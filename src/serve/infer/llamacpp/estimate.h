/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * llama.cpp's own estimate of what a run takes, without loading, on which its --fit relies:
 * weights, caches and compute buffers of each device, neither pools nor cuBLAS's workspace.
 */
#ifndef MS_SERVE_INFER_LLAMACPP_ESTIMATE_H
#define MS_SERVE_INFER_LLAMACPP_ESTIMATE_H

#include "serve/infer/llama/sizes.h"

typedef struct ms_llama_estimate {
    int64_t weights, all; /* bytes */
} ms_llama_estimate;

/* Of each device in use; without one, of the host: what the CPU rearranges is not in it.
 * The settings are those of the job. */
ms_status ms_llama_estimate_make(const ms_infer_job *job, const ms_llama_model *model,
                                 ms_llama_estimate estimates[MS_LLAMA_MAX_DEVICES], ms_error *err);

#endif
