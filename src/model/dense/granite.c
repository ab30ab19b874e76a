/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Granite, and Granite 4.0 without state-space layers and experts: families/granite.family and
 * families/granitemoehybrid.family have their keys, modules and calls.
 */
#include "model/family/family_keys.h"
#include "model/family/family_list.h"

static ms_status check_hybrid(const ms_model_config *config, ms_error *err)
{
    if (config->num_experts > 0) {
        snprintf(err->pointer, sizeof err->pointer, "/num_local_experts");
        return ms_fail(err, MS_ERR_CONFIG, "experts are not supported here, the number must be 0");
    }
    if (config->turns_heads)
        return MS_OK;
    snprintf(err->pointer, sizeof err->pointer, "/position_embedding_type");
    return ms_fail(err, MS_ERR_CONFIG, "only rope is supported");
}


const ms_family ms_family_granitemoehybrid = {
    .model_type = "granitemoehybrid",
    .classes = {{"GraniteMoeHybridForCausalLM", MS_HEAD_CAUSAL_LM}},
    .check = check_hybrid,
    .scales_logits = true,
    .text_name = "granitemoehybrid"};
