/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Mamba 2: families/mamba2.family has its keys, modules and calls.
 */
#include <inttypes.h>
#include <stdio.h>

#include "model/family/family_keys.h"
#include "model/family/family_list.h"

static ms_status check(const ms_model_config *c, ms_error *err)
{
    const uint64_t inner = c->hidden_size * c->expansion, heads = c->scan_heads * c->scan_head_dim;
    if (inner != heads) {
        snprintf(err->pointer, sizeof err->pointer, "/num_heads");
        return ms_fail(err, MS_ERR_CONFIG,
                       "%" PRIu64 " heads of %" PRIu64 " are not hidden_size * expand, %" PRIu64,
                       c->scan_heads, c->scan_head_dim, inner);
    }
    if (c->scan_heads % c->state_groups == 0 && inner % c->state_groups == 0)
        return MS_OK;
    snprintf(err->pointer, sizeof err->pointer, "/n_groups");
    return ms_fail(err, MS_ERR_CONFIG, "%" PRIu64 " does not divide num_heads %" PRIu64,
                   c->state_groups, c->scan_heads);
}

static const ms_family_facts facts = {
    .peft = {.usual_lora = "in_proj",
             .refused = {{"out_proj", "PEFT refuses to adapt it", "in_proj"}}},
    .llama_cpp = "mamba2",
    .needs_gguf = true,
};

const ms_family ms_family_mamba2 = {.model_type = "mamba2",
                                    .facts = &facts,
                                    .classes = {{"Mamba2ForCausalLM", MS_HEAD_CAUSAL_LM}},
                                    .check = check,
                                    .scales_logits = true, /* to fp32 */
                                    .has_no_attention = true,
                                    .has_no_rotary = true,
                                    .has_no_mlp_module = true,
                                    .unpredicted =
                                        MS_UNPREDICTED_HOST_PARAMETERS | MS_UNPREDICTED_PADDING,
                                    .takes_cache = true,
                                    .text_name = "mamba2"};
