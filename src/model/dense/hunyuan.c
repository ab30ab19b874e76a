/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Hunyuan, dense: families/hunyuan_v1_dense.family has its keys, modules and calls.
 */
#include "model/family/family_list.h"

static const ms_family_facts facts = {
    .blocks = MS_BLOCKS_OF_LLAMA | MS_BLOCK_TURNED_NORMS,
    .compared = MS_WITH_CHUNKED_LOSS,
    .liger = {.kernels = MS_LIGER_ALL,
              .norms = MS_LIGER_IS_LAYER | MS_LIGER_IS_LAST,
              .logits_share = 1},
};

const ms_family ms_family_hunyuan_v1_dense = {
    .model_type = "hunyuan_v1_dense",
    .facts = &facts,
    .classes = {{"HunYuanDenseV1ForCausalLM", MS_HEAD_CAUSAL_LM},
                {"HunYuanDenseV1ForSequenceClassification", MS_HEAD_LAST_TOKEN}},
    .takes_cache = true,
    .text_name = "hunyuan_v1_dense"};
