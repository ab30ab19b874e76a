/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Attention in llama.cpp's graphs: projections, the cache, and the operators between them.
 */
#ifndef MS_SERVE_INFER_LLAMA_ATTENTION_H
#define MS_SERVE_INFER_LLAMA_ATTENTION_H

#include "serve/infer/llama/build.h"

typedef struct ms_llama_qkv {
    uint32_t q, k, v;
} ms_llama_qkv;

/* Projections of a layer, together (attn_qkv) or one by one; heads apart. */
ms_llama_qkv ms_llama_qkv_of(ms_llama_build *b, uint32_t x, uint64_t layer);
/* Writes keys and values to the cache, attends, and projects. */
uint32_t ms_llama_attend(ms_llama_build *b, ms_llama_qkv of, uint64_t layer, bool caps_scores);
/* Whether CUDA has a kernel for heads of that width, however many share a key. */
bool ms_llama_flash_has_kernel(const ms_llama_run *run);
/* Multi-head latent attention, from the norm of the layer's input on. */
uint32_t ms_llama_attend_latent(ms_llama_build *b, uint32_t x, uint64_t layer);

#endif
