/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/config/trainers/others/training_foreign.h"

#include <stddef.h>

static const char megatron[] = "Megatron-LM", nemo[] = "NeMo or Megatron Bridge",
                  automodel[] = "NeMo AutoModel", rl[] = "NeMo-RL", verl[] = "verl",
                  openrlhf[] = "OpenRLHF", prime[] = "prime-rl";

/* Keys that no trainer whose files are read has. */
static const struct {
    const char *pointer, *trainer;
} marks[] = {
    {"/model_parallel", megatron},
    {"/language_model", megatron},
    {"/tensor_model_parallel_size", megatron},
    {"/pipeline_model_parallel_size", megatron},
    {"/expert_model_parallel_size", megatron},
    {"/virtual_pipeline_model_parallel_size", megatron},
    {"/use_distributed_optimizer", megatron},
    {"/recompute_granularity", megatron},
    {"/transformer_impl", megatron},
    {"/moe_grouped_gemm", megatron},
    {"/megatron_args", megatron},
    {"/model/tensor_model_parallel_size", nemo},
    {"/model/pipeline_model_parallel_size", nemo},
    {"/ddp/use_distributed_optimizer", nemo},
    {"/step_scheduler", automodel},
    {"/policy/train_micro_batch_size", rl},
    {"/policy/train_global_batch_size", rl},
    {"/actor_rollout_ref", verl},
    {"/micro_train_batch_size", openrlhf},
    {"/vllm_num_engines", openrlhf},
    {"/trainer/model", prime},
    {"/trainer.model", prime}, /* a section of TOML is one key */
};

/* LLaMA-Factory hands settings of Megatron on; what its own reader says of them is better. */
static const char *const own[] = {"/finetuning_type", "/stage"};

ms_status ms_training_refuse_foreign(ms_json_value root, ms_error *err)
{
    ms_json_value value;
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (ms_json_find_pointer(root, own[i], &value))
            return MS_OK;
    if (ms_json_find(root, "architectures", &value))
        return ms_json_fail(err, value, MS_JSON_AT_KEY, MS_ERR_CONFIG,
                            "this is a model's config: expected settings of a training run");
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        if (ms_json_find_pointer(root, marks[i].pointer, &value))
            return ms_json_fail(err, value, MS_JSON_AT_KEY, MS_ERR_CONFIG,
                                "this is a key of %s, whose files memscope does not read: give the "
                                "settings as options (--batch, --seq, --parallel tp=4,pp=2), or "
                                "run the training itself with memscope capture",
                                marks[i].trainer);
    return MS_OK;
}
