/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/family/family_keys.h"

ms_status ms_check_heads_divide(const ms_model_config *config, ms_error *err)
{
    if (config->hidden_size % config->num_heads == 0)
        return MS_OK;
    snprintf(err->pointer, sizeof err->pointer, "/num_attention_heads");
    return ms_fail(err, MS_ERR_CONFIG, "%" PRIu64 " does not divide hidden_size %" PRIu64,
                   config->num_heads, config->hidden_size);
}

ms_status ms_check_experts(const ms_model_config *config, ms_error *err)
{
    if (config->experts_per_token <= config->num_experts)
        return MS_OK;
    snprintf(err->pointer, sizeof err->pointer, "/num_experts_per_tok");
    return ms_fail(err, MS_ERR_CONFIG, "%" PRIu64 " experts per token, but there are %" PRIu64,
                   config->experts_per_token, config->num_experts);
}

ms_status ms_check_quiet_experts(const ms_model_config *config, ms_error *err)
{
    if (config->router_jitter <= 0)
        return ms_check_experts(config, err);
    snprintf(err->pointer, sizeof err->pointer, "/router_jitter_noise");
    return ms_fail(err, MS_ERR_CONFIG, "noise on the router's input is not supported");
}
