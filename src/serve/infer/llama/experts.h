/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The mixture of experts of llama.cpp's graphs.
 */
#ifndef MS_SERVE_INFER_LLAMA_EXPERTS_H
#define MS_SERVE_INFER_LLAMA_EXPERTS_H

#include "serve/infer/llama/build.h"

typedef struct ms_llama_moe {
    bool normalises;        /* weights of a token's experts sum to 1 */
    bool softmax_of_chosen; /* only of those that were chosen */
    bool scales;            /* weights by a constant */
} ms_llama_moe;

uint32_t ms_llama_experts(ms_llama_build *b, uint32_t x, uint64_t layer, const ms_llama_moe *how);

#endif
