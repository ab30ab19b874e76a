/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/config/trainers/others/swift_configs.h"

#include <string.h>

#include "input/config/trainers/training_value.h"

/* What matters of them; numbers that DeepSpeed has by itself are left out. */
#define TYPES "\"fp16\": {\"enabled\": \"auto\"}, \"bf16\": {\"enabled\": \"auto\"}, "
#define BUCKETS                                                                                    \
    ", \"overlap_comm\": false, \"contiguous_gradients\": true, \"reduce_scatter\": true, "        \
    "\"allgather_bucket_size\": 2e8, \"reduce_bucket_size\": 2e8"
#define PIECES                                                                                     \
    ", \"overlap_comm\": false, \"contiguous_gradients\": true, \"sub_group_size\": 1e9, "         \
    "\"reduce_bucket_size\": \"auto\", \"stage3_prefetch_bucket_size\": \"auto\", "                \
    "\"stage3_param_persistence_threshold\": \"auto\", \"stage3_max_live_parameters\": 1e9, "      \
    "\"stage3_max_reuse_distance\": 1e9"
#define AUTO                                                                                       \
    ", \"gradient_accumulation_steps\": \"auto\", \"gradient_clipping\": \"auto\", "               \
    "\"train_batch_size\": \"auto\", \"train_micro_batch_size_per_gpu\": \"auto\"}"
#define ZERO(inside) "{" TYPES "\"zero_optimization\": {" inside "}" AUTO
#define STATES_ON_HOST ", \"offload_optimizer\": {\"device\": \"cpu\"}"
#define PARAMETERS_ON_HOST ", \"offload_param\": {\"device\": \"cpu\"}"

static const struct {
    const char *name, *text;
} configs[] = {
    {"zero0", ZERO("\"stage\": 0" BUCKETS)},
    {"zero1", ZERO("\"stage\": 1" BUCKETS)},
    {"zero2", ZERO("\"stage\": 2" BUCKETS)},
    {"zero2_offload", ZERO("\"stage\": 2" STATES_ON_HOST BUCKETS)},
    {"zero3", ZERO("\"stage\": 3" PIECES)},
    {"zero3_offload", ZERO("\"stage\": 3" STATES_ON_HOST PARAMETERS_ON_HOST PIECES)},
    {"fsdp2", "{\"fsdp\": \"full_shard auto_wrap\", \"fsdp_config\": {\"fsdp_version\": 2, "
              "\"reshard_after_forward\": true, \"auto_wrap_policy\": \"TRANSFORMER_BASED_WRAP\", "
              "\"cpu_ram_efficient_loading\": true, \"state_dict_type\": \"SHARDED_STATE_DICT\", "
              "\"activation_checkpointing\": true}}"},
};

const char *ms_training_swift_config(ms_json_value value)
{
    const char *name = ms_training_value_text(value);
    for (size_t i = 0; i < sizeof configs / sizeof *configs; i++)
        if (strcmp(configs[i].name, name) == 0)
            return configs[i].text;
    return NULL;
}
