/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Layers with a recurrent state in place of attention.
 */
#ifndef MS_SERVE_INFER_LLAMA_RECURRENT_H
#define MS_SERVE_INFER_LLAMA_RECURRENT_H

#include "serve/infer/llama/build.h"

/* A short convolution over the tokens of each sequence (lfm2). */
uint32_t ms_llama_short_convolution(ms_llama_build *b, uint32_t x, uint64_t layer);
/* A state-space layer (mamba2). */
uint32_t ms_llama_state_space(ms_llama_build *b, uint32_t x, uint64_t layer);

#endif
