/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Linear layers in 4 bits or fp8 that Marlin's kernel runs, on devices without kernels of their
 * own: what is made of the weights when all are loaded, and what a product takes.
 */
#ifndef MS_SERVE_INFER_VLLM_QUANTIZED_MARLIN_LINEAR_H
#define MS_SERVE_INFER_VLLM_QUANTIZED_MARLIN_LINEAR_H

#include "serve/infer/vllm/load.h"

/* Whether the kernel takes a layer without padding. */
bool ms_vllm_marlin_linear_takes(uint64_t out, uint64_t in);
/* Of a layer in groups of 4 bits, as GPTQ has them; the weight of AWQ is in that order already. */
void ms_vllm_marlin_linear_finish(const ms_vllm_setup *setup, ms_vllm_tape *tape,
                                  const ms_vllm_linear *linear);
/* The same of a layer in fp8, with scales of blocks, or with one of all. */
void ms_vllm_marlin_linear_finish_fp8(const ms_vllm_setup *setup, ms_vllm_tape *tape,
                                      const ms_vllm_linear *linear);
/* Partial sums of a product of so many tokens. */
ms_size ms_vllm_marlin_linear_sums(const ms_vllm_setup *setup, uint64_t tokens);

#endif
