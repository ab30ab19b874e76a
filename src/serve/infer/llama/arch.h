/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The architectures that llama.cpp knows and this engine predicts, one row each.
 */
#ifndef MS_SERVE_INFER_LLAMA_ARCH_H
#define MS_SERVE_INFER_LLAMA_ARCH_H

#include <stdbool.h>
#include <stdint.h>

/* Architectures, by the name in a GGUF file. */
typedef enum ms_llama_arch {
    MS_LLAMA_LLAMA,
    MS_LLAMA_QWEN2,
    MS_LLAMA_QWEN3,
    MS_LLAMA_QWEN3MOE,
    MS_LLAMA_GEMMA2,
    MS_LLAMA_GEMMA3,
    MS_LLAMA_GPT2,
    MS_LLAMA_PHI3,
    MS_LLAMA_DEEPSEEK2,
    MS_LLAMA_GPT_OSS,
    MS_LLAMA_LFM2,
    MS_LLAMA_MAMBA2,
    MS_LLAMA_ARCHS
} ms_llama_arch;

typedef struct ms_llama_arch_info {
    const char *name;
    uint64_t window_every; /* every N-th layer has full attention, the others a window; 0: none
                              of them has a window, whatever the file says */
} ms_llama_arch_info;

const ms_llama_arch_info *ms_llama_arch_info_of(ms_llama_arch arch);
/* The architecture of that name, as in GGUF files; false: none is known. */
bool ms_llama_arch_of_name(const char *name, ms_llama_arch *arch);

#endif
