/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A step's forward without a cache: what the layers of vLLM's classes allocate, in order, and how
 * long their locals live.
 */
#ifndef MS_SERVE_INFER_VLLM_LAYERS_H
#define MS_SERVE_INFER_VLLM_LAYERS_H

#include "serve/infer/vllm/setup.h"
#include "serve/infer/vllm/tape.h"

typedef struct ms_vllm_pass {
    const ms_vllm_setup *s;
    ms_vllm_tape *tape;
    bool has_workspace, has_light; /* of cuBLAS, and of cublasLt for products with a bias */
    ms_block experts;              /* the workspace of mixtures, which grows and stays */
    uint64_t experts_bytes;
} ms_vllm_pass;

/* Rows as wide as `width`, in the model's type. */
ms_block ms_vllm_rows(ms_vllm_pass *pass, uint64_t count, uint64_t width);
/* The result of a product for so many rows, and the workspaces of the first one, which stay. */
ms_block ms_vllm_product(ms_vllm_pass *pass, uint64_t count, uint64_t width, bool has_bias);

/* Returns the model's output: a row for each token. */
ms_block ms_vllm_layers(ms_vllm_pass *pass, const ms_vllm_rank *rank);

#endif
