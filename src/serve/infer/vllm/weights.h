/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Weights of linear layers and of experts: what each scheme makes of them when a model is built,
 * and what it puts in their place when all are loaded.
 */
#ifndef MS_SERVE_INFER_VLLM_WEIGHTS_H
#define MS_SERVE_INFER_VLLM_WEIGHTS_H

#include "base/vec.h"
#include "serve/infer/vllm/quantized/marlin.h"
#include "serve/infer/vllm/quantized/mxfp4.h"
#include "serve/infer/vllm/setup.h"
#include "serve/infer/vllm/tape.h"

/* A linear layer, or the experts of a layer, each with `out` = its width. */
typedef struct ms_vllm_linear {
    uint64_t out, in, experts;             /* experts: 0: a linear layer */
    ms_vllm_marlin marlin;                 /* of experts in 4 bits */
    ms_vllm_mxfp4 mxfp4;                   /* of experts in mxfp4 */
    ms_block weight, zeros, scales, order; /* that are replaced; order: of GPTQ's inputs */
} ms_vllm_linear;

typedef struct ms_vllm_weights {
    const ms_vllm_setup *s;
    ms_vllm_tape *tape;
    ms_vec(ms_vllm_linear) linears; /* that are not plain, in the order of the model */
    bool has_failed;                /* out of memory */
    uint64_t odd_out, odd_in;       /* of a layer that the scheme's kernel does not take; 0: none */
} ms_vllm_weights;

/* A tensor in the model's type. */
ms_block ms_vllm_weight(ms_vllm_weights *weights, uint64_t rows, uint64_t columns);

/* While the model is built. */
void ms_vllm_linear_build(ms_vllm_weights *weights, uint64_t out, uint64_t in);
void ms_vllm_experts_build(ms_vllm_weights *weights, uint64_t count, uint64_t width,
                           uint64_t hidden, bool has_biases);
/* When all are loaded, of so many layers. Frees the list. MS_ERR_CONFIG: a layer's widths are not
 * known. */
ms_status ms_vllm_weights_finish(ms_vllm_weights *weights, uint64_t layers, ms_error *err);

#endif
