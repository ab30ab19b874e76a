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

uint8_t ms_sparse_everywhere(const ms_model_config *config, uint64_t layer)
{
    (void)config, (void)layer;
    return MS_LAYER_SPARSE;
}

uint8_t ms_slides_from_max_window(const ms_model_config *config, uint64_t layer)
{
    return layer >= config->max_window_layers ? MS_LAYER_SLIDES : 0;
}
