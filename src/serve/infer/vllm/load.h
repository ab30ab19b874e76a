/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * How vLLM loads a model: the parameters of its classes in their order, tables of sines and
 * cosines with what is computed for them, and what quantisation makes of the weights.
 */
#ifndef MS_SERVE_INFER_VLLM_LOAD_H
#define MS_SERVE_INFER_VLLM_LOAD_H

#include "serve/infer/vllm/quantized/marlin.h"
#include "serve/infer/vllm/quantized/mxfp4.h"
#include "serve/infer/vllm/setup.h"
#include "serve/infer/vllm/tape.h"

/* What stays allocated afterwards is what vLLM counts as weights. */
ms_status ms_vllm_load(const ms_vllm_setup *setup, const ms_vllm_rank *rank, ms_vllm_tape *tape,
                       ms_error *err);

/* ---- weights ---- */

/* Weights of linear layers and of experts: what each scheme makes of them when a model is built,
 * and what it puts in their place when all are loaded. */

/* A linear layer, or the experts of a layer, each with `out` = its width. */
typedef struct ms_vllm_linear {
    uint64_t out, in, experts;             /* experts: 0: a linear layer */
    ms_vllm_marlin marlin;                 /* of experts in 4 bits */
    ms_vllm_mxfp4 mxfp4;                   /* of experts in mxfp4 */
    ms_block weight, zeros, scales, order; /* that are replaced; order: of GPTQ's inputs */
} ms_vllm_linear;

#endif
