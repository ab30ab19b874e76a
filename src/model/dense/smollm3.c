/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * SmolLM3: families/smollm3.family has its keys, modules and calls.
 */
#include "input/config/model/model_config.h"
#include "model/family/family_list.h"

/* Layers without rotary embedding slide. */
static uint8_t layer_kind(const ms_model_config *config, uint64_t layer)
{
    return ms_layer_kind(config, layer) & MS_LAYER_NO_ROTARY ? MS_LAYER_SLIDES : 0;
}

static const ms_family_facts facts = {
    .blocks = MS_BLOCKS_OF_LLAMA | MS_BLOCK_UNTURNED,
    .compared = MS_WITH_BROADCAST | MS_WITH_CHUNKED_LOSS,
    .liger = {.kernels = MS_LIGER_ALL,
              .norms = MS_LIGER_IS_LAYER | MS_LIGER_IS_LAST,
              .logits_share = 1},
};

const ms_family ms_family_smollm3 = {.model_type = "smollm3",
                                     .facts = &facts,
                                     .classes = {{"SmolLM3ForCausalLM", MS_HEAD_CAUSAL_LM}},
                                     .layer_kind = layer_kind,
                                     .takes_cache = true,
                                     .text_name = "smollm3"};
