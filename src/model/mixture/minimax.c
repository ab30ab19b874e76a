/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * MiniMax-M2: families/minimax_m2.family has its keys, modules and calls.
 */
#include "model/family/family_list.h"
#include "model/family/family_keys.h"

/* Published files give the rotated part of a head in elements. */
static ms_status derive(ms_model_config *config, ms_error *err)
{
    if (config->rotary_share > 0 || config->rotary_width == 0)
        return MS_OK;
    if (config->rotary_width > config->head_dim) {
        snprintf(err->pointer, sizeof err->pointer, "/rotary_dim");
        return ms_fail(err, MS_ERR_CONFIG,
                       "%" PRIu64 " elements are rotated, but head_dim is %" PRIu64,
                       config->rotary_width, config->head_dim);
    }
    config->rotary_share = (double)config->rotary_width / (double)config->head_dim;
    return MS_OK;
}

static const ms_family_facts facts = {
    .compared = MS_WITH_ZERO3 | MS_WITH_ZERO3_EXPERTS | MS_WITH_CHUNKED_LOSS,
    .peft = {.exchanged = ms_experts_of_mixtral},
};

const ms_family ms_family_minimax_m2 = {.model_type = "minimax_m2",
                                        .facts = &facts,
                                        .classes = {{"MiniMaxM2ForCausalLM", MS_HEAD_CAUSAL_LM}},
                                        .derive = derive,
                                        .check = ms_check_quiet_experts,
                                        .text_name = "minimax_m2"};
