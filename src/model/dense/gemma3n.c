/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Gemma 3n: families/gemma3n_text.family has its keys, modules and calls.
 */
#include "model/dense/sharing.h"
#include "model/family/family_keys.h"
#include "model/family/family_list.h"

static ms_status check(const ms_model_config *config, ms_error *err)
{
    ms_status status = ms_check_heads_divide(config, err);
    if (status != MS_OK)
        return status;
    if (!config->caps_logits || !config->clips_coefficients) {
        snprintf(err->pointer, sizeof err->pointer, "/%s",
                 config->caps_logits ? "altup_coef_clip" : "final_logit_softcapping");
        return ms_fail(err, MS_ERR_CONFIG, "null: the framework's class takes a number alone");
    }
    if (config->active_stream >= config->altup_streams) {
        snprintf(err->pointer, sizeof err->pointer, "/altup_active_idx");
        return ms_fail(err, MS_ERR_CONFIG,
                       "%" PRIu64 " is past the last of %" PRIu64 " inputs (altup_num_inputs)",
                       config->active_stream, config->altup_streams);
    }
    return ms_check_sharing(config, err);
}

static const ms_family_facts facts = {
    .compared = MS_WITH_CHUNKED_LOSS,
    .has_head_norms = true,
};

const ms_family ms_family_gemma3n_text = {.model_type = "gemma3n_text",
                                          .facts = &facts,
                                          .classes = {{"Gemma3nForCausalLM", MS_HEAD_CAUSAL_LM}},
                                          .check = check,
                                          .unpredicted = MS_UNPREDICTED_DOCUMENTS |
                                                         MS_UNPREDICTED_HOST_PARAMETERS |
                                                         MS_UNPREDICTED_PACKED,
                                          .text_name = "gemma3n_text"};
