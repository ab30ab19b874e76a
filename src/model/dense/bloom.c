/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * BLOOM: families/bloom.family has its keys, modules and calls.
 */
#include "input/config/model/family.h"
#include "model/family/family_keys.h"
#include "model/family/family_list.h"

static ms_status derive(ms_model_config *config, ms_error *err)
{
    (void)err;
    config->intermediate_size = 4 * config->hidden_size;
    return MS_OK;
}

static const ms_family_facts facts = {
    .peft = {.lora = {"query_key_value"},
             .ia3 = {"query_key_value", "mlp.dense_4h_to_h"},
             .ia3_inputs = {"mlp.dense_4h_to_h"}},
};

const ms_family ms_family_bloom = {.model_type = "bloom",
                                   .facts = &facts,
                                   .unpredicted = MS_UNPREDICTED_DOCUMENTS,
                                   .classes = {{"BloomForCausalLM", MS_HEAD_CAUSAL_LM}},
                                   .derive = derive,
                                   .check = ms_check_heads_divide,
                                   .eager_only = true,
                                   .has_no_mlp_module = true,
                                   .takes_no_positions = true,
                                   .takes_cache = true,
                                   .text_name = "bloom"};
