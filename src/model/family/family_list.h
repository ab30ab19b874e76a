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
    X(llama)                          \
    X(llama4_text)                    \
    X(llama4)                         \
    X(mistral)                        \
    X(ministral3)                     \
    X(qwen2)                          \
    X(qwen3)                          \
    X(gpt2)                           \
    X(gptj)                           \
    X(bloom)                          \
    X(phi3)                           \
    X(glm4)                           \
    X(gpt_neox)                       \
    X(glm)                            \
    X(seed_oss)                       \
    X(starcoder2)                     \
    X(granite)                        \
    X(granitemoehybrid)               \
    X(smollm3)                        \
    X(olmo2)                          \
    X(olmo3)                          \
    X(exaone4)                        \
    X(ernie4_5)                       \
    X(ernie4_5_moe)                   \
    X(arcee)                          \
    X(internlm3)                      \
    X(lfm2)                           \
    X(hunyuan_v1_dense)               \
    X(phi)                            \
    X(stablelm)                       \
    X(cohere)                         \
    X(cohere2)                        \
    X(gemma)                          \
    X(gemma2)                         \
    X(gemma3_text)                    \
    X(gemma3)                         \
    X(gemma3n_text)                   \
    X(gemma4_text)                    \
    X(gemma4)                         \
    X(mixtral)                        \
    X(qwen3_moe)                      \
    X(qwen2_moe)                      \
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
    X(glm4_moe)                       \
    X(olmoe)                          \
    X(minimax_m2)                     \
    X(dots1)                          \
    X(gpt_oss)                        \
    X(mamba)                          \
    X(mamba2)                         \
    X(nemotron_h)                     \
    X(opt)                            \
    X(falcon)                         \
    X(refined_web_model)              \
    X(refined_web)                    \
    X(bert)                           \
    X(distilbert)                     \
    X(roberta)                        \
    X(xlm_roberta)                    \
    X(camembert)                      \
    X(modernbert)                     \
    X(electra)                        \
    X(vit)                            \
    X(t5)                             \
    X(whisper)
/* clang-format on */

#define MS_FAMILY_DECLARE(name) extern const ms_family ms_family_##name;
MS_FAMILY_LIST(MS_FAMILY_DECLARE)

#endif
