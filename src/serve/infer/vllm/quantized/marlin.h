/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Experts in 4 bits, which Marlin's kernel runs: what files have, and what is made of it.
 */
#ifndef MS_SERVE_INFER_VLLM_QUANTIZED_MARLIN_H
#define MS_SERVE_INFER_VLLM_QUANTIZED_MARLIN_H

#include "serve/infer/vllm/setup.h"
#include "serve/infer/vllm/tape.h"

enum { MS_VLLM_MARLIN_TENSORS = 8 };

/* The tensors of a layer's experts that are replaced when all are loaded. */
typedef struct ms_vllm_marlin {
    ms_block loaded[MS_VLLM_MARLIN_TENSORS];
} ms_vllm_marlin;

ms_vllm_marlin ms_vllm_marlin_build(const ms_vllm_setup *setup, ms_vllm_tape *tape);
void ms_vllm_marlin_finish(const ms_vllm_setup *setup, ms_vllm_tape *tape,
                           const ms_vllm_marlin *experts);

/* Rows of an expert that a block of the kernel takes. */
uint64_t ms_vllm_marlin_rows(const ms_vllm_setup *setup);
/* What the kernel sums partial results in, for so many columns and sorted rows. */
ms_size ms_vllm_marlin_sums(const ms_vllm_setup *setup, uint64_t columns, uint64_t sorted);

#endif
