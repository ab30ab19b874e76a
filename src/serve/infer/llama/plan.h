/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The graph of an architecture for a batch, and the devices that run its operators.
 */
#ifndef MS_SERVE_INFER_LLAMA_PLAN_H
#define MS_SERVE_INFER_LLAMA_PLAN_H

#include "serve/infer/ggml/sched.h"
#include "serve/infer/llama/sizes.h"

typedef struct ms_llama_batch {
    uint64_t tokens, outputs; /* `tokens`: as many of each sequence */
    uint64_t filled;          /* cells of the caches that are read; 0: all */
    bool is_loaded, is_fused; /* see build.h */
} ms_llama_batch;

typedef struct ms_llama_plan {
    ms_graph g;
    ms_schedule schedule;
} ms_llama_plan;

/* MS_ERR_CONFIG: a layer lacks a tensor. */
ms_status ms_llama_plan_make(const ms_llama_run *run, const ms_llama_batch *batch,
                             ms_llama_plan *plan, ms_error *err);
void ms_llama_plan_free(ms_llama_plan *plan);

#endif
