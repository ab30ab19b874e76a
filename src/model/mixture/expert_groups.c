/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/mixture/expert_groups.h"

#include "model/family/family_keys.h"

static ms_status refuse(ms_error *err, const char *pointer, const char *text)
{
    snprintf(err->pointer, sizeof err->pointer, "%s", pointer);
    return ms_fail(err, MS_ERR_CONFIG, "%s", text);
}

ms_status ms_check_pairs(const ms_model_config *config, ms_error *err)
{
    return ms_check_groups(config, 2, err);
}

ms_status ms_check_groups(const ms_model_config *config, uint64_t least, ms_error *err)
{
    if (least == 0)
        return ms_check_experts(config, err);
    if (config->expert_groups == 0 || config->num_experts % config->expert_groups != 0)
        return refuse(err, "/n_group", "n_group must divide n_routed_experts");
    if (config->num_experts / config->expert_groups < least)
        return refuse(err, "/n_group", "a group needs two experts: the two best make its score");
    if (config->chosen_groups == 0 || config->chosen_groups > config->expert_groups)
        return refuse(err, "/topk_group", "topk_group must be from 1 to n_group");
    if (config->experts_per_token >
        config->num_experts / config->expert_groups * config->chosen_groups)
        return refuse(err, "/num_experts_per_tok",
                      "num_experts_per_tok is more than the selected groups have");
    return ms_check_experts(config, err);
}
