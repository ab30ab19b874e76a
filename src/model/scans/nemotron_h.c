/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Nemotron-H: families/nemotron_h.family has its keys, modules and calls.
 */
#include "input/config/model/layer_kinds.h"
#include "model/family/family_keys.h"
#include "model/family/family_list.h"
#include "model/mixture/expert_groups.h"

/* Where the file lists nothing: one layer of each kind. */
static uint8_t layer_kind(const ms_model_config *config, uint64_t layer)
{
    static const uint8_t kinds[] = {MS_LAYER_TOKEN_MIXER, MS_LAYER_MLP_ALONE | MS_LAYER_SPARSE,
                                    MS_LAYER_NO_ROTARY, MS_LAYER_MLP_ALONE};
    (void)config;
    return kinds[layer % 4];
}

static ms_status check(const ms_model_config *c, ms_error *err)
{
    const uint64_t inner = c->scan_heads * c->scan_head_dim;
    const bool scans = ms_model_has_layers(c, MS_LAYER_TOKEN_MIXER);
    if (scans && (c->scan_heads % c->state_groups != 0 || inner % c->state_groups != 0)) {
        snprintf(err->pointer, sizeof err->pointer, "/n_groups");
        return ms_fail(err, MS_ERR_CONFIG, "%" PRIu64 " does not divide mamba_num_heads %" PRIu64,
                       c->state_groups, c->scan_heads);
    }
    return c->num_experts > 0 ? ms_check_groups(c, 2, err) : MS_OK;
}

static const ms_family_facts facts = {
    .peft = {.lora = {"q_proj", "k_proj", "v_proj", "o_proj"},
             .refused = {{"out_proj", "PEFT refuses to adapt it", "in_proj"}}},
};

const ms_family ms_family_nemotron_h = {.model_type = "nemotron_h",
                                        .facts = &facts,
                                        .classes = {{"NemotronHForCausalLM", MS_HEAD_CAUSAL_LM}},
                                        .check = check,
                                        .layer_kind = layer_kind,
                                        .scales_logits = true, /* to fp32 */
                                        .has_no_rotary = true,
                                        .has_lone_mixers = true,
                                        .has_no_mlp_module = true,
                                        .unpredicted =
                                            MS_UNPREDICTED_HOST_PARAMETERS | MS_UNPREDICTED_PADDING,
                                        .text_name = "nemotron_h"};
