/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * EXAONE 4: families/exaone4.family has its keys, modules and calls.
 */
#include "model/family/family_list.h"

static const ms_family_facts facts = {
    .blocks = MS_BLOCK_PROJECTIONS | MS_BLOCK_HEAD_NORMS | MS_BLOCK_MORE_NORMS |
              MS_BLOCK_GATED_MLP | MS_BLOCK_UNTURNED,
    .compared = MS_WITH_CHUNKED_LOSS,
    .liger = {.kernels = MS_LIGER_ALL,
              .norms = MS_LIGER_IS_LAYER | MS_LIGER_IS_LAST | MS_LIGER_IS_HEADS,
              .copying_norms = MS_LIGER_IS_LAYER | MS_LIGER_IS_LAST | MS_LIGER_IS_HEADS,
              .logits_share = 1},
};

const ms_family ms_family_exaone4 = {
    .model_type = "exaone4",
    .facts = &facts,
    .classes = {{"Exaone4ForCausalLM", MS_HEAD_CAUSAL_LM},
                {"Exaone4ForSequenceClassification", MS_HEAD_LAST_TOKEN}},
    .takes_cache = true,
    .text_name = "exaone4"};
