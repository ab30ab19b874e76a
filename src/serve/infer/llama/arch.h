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
    const char *model_types[3]; /* of config.json files that are converted to it */
    uint64_t window_every;      /* every N-th layer has full attention, the others a window; 0: none
                                   of them has a window, whatever the file says */
} ms_llama_arch_info;

const ms_llama_arch_info *ms_llama_arch_info_of(ms_llama_arch arch);
/* The architecture that a config.json of this type is converted to; false: none is known. */
bool ms_llama_arch_of_type(const char *model_type, ms_llama_arch *arch);
/* Whether GGUF files of an architecture of this name are known. */
bool ms_llama_arch_is_known(const char *name);

#endif
