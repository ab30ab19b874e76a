/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/config/launch/trl_configs.h"

#include <stddef.h>
#include <string.h>

#define OF(type, inside)                                                                           \
    "{\"compute_environment\": \"LOCAL_MACHINE\", \"distributed_type\": \"" type "\", "            \
    "\"mixed_precision\": \"bf16\", \"num_machines\": 1, \"num_processes\": 8" inside "}"
#define FSDP(inside)                                                                               \
    OF("FSDP", ", \"fsdp_config\": {\"fsdp_activation_checkpointing\": false, "                    \
               "\"fsdp_auto_wrap_policy\": \"TRANSFORMER_BASED_WRAP\", "                           \
               "\"fsdp_cpu_ram_efficient_loading\": true, \"fsdp_offload_params\": false, "        \
               "\"fsdp_state_dict_type\": \"FULL_STATE_DICT\", " inside "}")
#define ZERO(inside) OF("DEEPSPEED", ", \"deepspeed_config\": {" inside "}")
#define NO_OFFLOAD "\"offload_optimizer_device\": \"none\", \"offload_param_device\": \"none\", "

static const struct {
    const char *name, *text;
} configs[] = {
    {"fsdp1",
     FSDP("\"fsdp_backward_prefetch\": \"BACKWARD_PRE\", \"fsdp_forward_prefetch\": true, "
          "\"fsdp_reshard_after_forward\": \"FULL_SHARD\", \"fsdp_sync_module_states\": true, "
          "\"fsdp_use_orig_params\": true, \"fsdp_version\": 1")},
    {"fsdp2", FSDP("\"fsdp_reshard_after_forward\": true, \"fsdp_version\": 2")},
    {"multi_gpu", OF("MULTI_GPU", "")},
    {"single_gpu", OF("NO", "")},
    {"zero1",
     ZERO("\"gradient_accumulation_steps\": 1, \"zero3_init_flag\": false, \"zero_stage\": 1")},
    {"zero2", ZERO(NO_OFFLOAD "\"zero3_init_flag\": false, \"zero_stage\": 2")},
    {"zero3", ZERO(NO_OFFLOAD "\"zero3_init_flag\": true, \"zero3_save_16bit_model\": true, "
                              "\"zero_stage\": 3")},
};

const char *ms_trl_config(const char *name)
{
    for (size_t i = 0; i < sizeof configs / sizeof *configs; i++)
        if (strcmp(configs[i].name, name) == 0)
            return configs[i].text;
    return NULL;
}

const char *ms_trl_config_names(void)
{
    return "fsdp1, fsdp2, multi_gpu, single_gpu, zero1, zero2 and zero3";
}
