/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The families, one row each, in the order of `memscope models`. Each is a table `ms_family_NAME`
 * in its own file, or in that of related families.
 */
#ifndef MS_MODEL_FAMILY_FAMILY_LIST_H
#define MS_MODEL_FAMILY_FAMILY_LIST_H

#include "input/config/model/family_facts.h"
#include "input/config/model/family.h"

/* clang-format off */
#define MS_FAMILY_LIST(X)             \
    X(llama4_text)                    \
    X(llama4)                         \
    X(granitemoehybrid)               \
    X(lfm2)                           \
    X(gemma3)                         \
    X(gemma3n_text)                   \
    X(gemma4_text)                    \
    X(gemma4)                         \
    X(qwen3_next)                     \
    X(qwen3_5_text)                   \
    X(qwen3_5)                        \
    X(qwen3_5_moe_text)               \
    X(qwen3_5_moe)                    \
    X(llava)                          \
    X(qwen2_vl)                       \
    X(qwen2_5_vl)                     \
    X(qwen3_vl)                       \
    X(qwen3_vl_moe)                   \
    X(deepseek_v2)                    \
    X(deepseek_v3)                    \
    X(deepseek_v32)                   \
    X(mamba)                          \
    X(mamba2)                         \
    X(nemotron_h)                     \
    X(vit)                            \
    X(t5)                             \
    X(whisper)
/* clang-format on */

#define MS_FAMILY_DECLARE(name) extern const ms_family ms_family_##name;
MS_FAMILY_LIST(MS_FAMILY_DECLARE)

#endif
