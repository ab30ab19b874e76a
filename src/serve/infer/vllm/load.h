/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * How vLLM loads a model: the parameters of its classes in their order, tables of sines and
 * cosines with what is computed for them, and what quantisation makes of the weights.
 */
#ifndef MS_SERVE_INFER_VLLM_LOAD_H
#define MS_SERVE_INFER_VLLM_LOAD_H

#include "serve/infer/vllm/setup.h"
#include "serve/infer/vllm/tape.h"

/* What stays allocated afterwards is what vLLM counts as weights. */
ms_status ms_vllm_load(const ms_vllm_setup *setup, const ms_vllm_rank *rank, ms_vllm_tape *tape,
                       ms_error *err);

#endif
