/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/config/trainers/keys/format_marks.h"

#include <string.h>

static const char *const format_names[] = {
    [MS_TRAINING_HF] = "TrainingArguments",
    [MS_TRAINING_AXOLOTL] = "axolotl",
    [MS_TRAINING_FACTORY] = "LLaMA-Factory",
    [MS_TRAINING_TORCHTUNE] = "torchtune",
    [MS_TRAINING_TITAN] = "torchtitan",
    [MS_TRAINING_SWIFT] = "ms-swift",
    [MS_TRAINING_V1] = "LLaMA-Factory's new format",
};

/* Keys that only one of them has. TrainingArguments are recognised by any of their own. */
static const struct {
    ms_training_format format;
    const char *pointer;
} marks[] = {
    {MS_TRAINING_AXOLOTL, "/base_model"},
    {MS_TRAINING_AXOLOTL, "/micro_batch_size"},
    {MS_TRAINING_AXOLOTL, "/sequence_len"},
    {MS_TRAINING_FACTORY, "/finetuning_type"},
    {MS_TRAINING_FACTORY, "/cutoff_len"},
    {MS_TRAINING_FACTORY, "/stage"},
    {MS_TRAINING_FACTORY, "/lora_target"},
    {MS_TRAINING_FACTORY, "/quantization_bit"},
    {MS_TRAINING_SWIFT, "/swift_task"},
    {MS_TRAINING_SWIFT, "/tuner_type"},
    {MS_TRAINING_SWIFT, "/train_type"},
    {MS_TRAINING_SWIFT, "/attn_impl"},
    {MS_TRAINING_SWIFT, "/quant_bits"},
    {MS_TRAINING_SWIFT, "/truncation_strategy"},
    {MS_TRAINING_SWIFT, "/split_dataset_ratio"},
    {MS_TRAINING_SWIFT, "/vit_gradient_checkpointing"},
    {MS_TRAINING_SWIFT, "/freeze_vit"},
    {MS_TRAINING_SWIFT, "/use_logits_to_keep"},
    {MS_TRAINING_TORCHTUNE, "/model/_component_"},
    {MS_TRAINING_TORCHTUNE, "/optimizer/_component_"},
    {MS_TRAINING_TORCHTUNE, "/tokenizer/_component_"},
    {MS_TRAINING_TORCHTUNE, "/data_parallel_shard_dim"},
    {MS_TRAINING_TITAN, "/training/local_batch_size"},
    {MS_TRAINING_TITAN, "/training/seq_len"},
    {MS_TRAINING_TITAN, "/model/flavor"},
    {MS_TRAINING_TITAN, "/activation_checkpoint/mode"},
    {MS_TRAINING_TITAN, "/parallelism/data_parallel_shard_degree"},
};

const char *ms_training_format_name(ms_training_format format)
{
    return format_names[format];
}

/* Keys of LLaMA-Factory's newer format, which has names of others besides. */
static bool has_v1_key(ms_json_value root)
{
    static const char *const names[] = {"dist_config",       "model_class",   "train_dataset",
                                        "batching_strategy", "kernel_config", "init_config",
                                        "quant_config",      "optim_config",  "v1_task"};
    ms_json_value value;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (ms_json_find(root, names[i], &value))
            return true;
    return false;
}

ms_status ms_training_find_mark(ms_json_value root, ms_training_format *format, bool *is_marked,
                                ms_error *err)
{
    const char *mark = NULL;
    ms_json_value value;
    if (has_v1_key(root)) {
        *format = MS_TRAINING_V1;
        *is_marked = true;
        return MS_OK;
    }
    for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++) {
        if (!ms_json_find_pointer(root, marks[i].pointer, &value))
            continue;
        if (mark && *format != marks[i].format)
            return ms_json_fail(err, value, MS_JSON_AT_KEY, MS_ERR_CONFIG,
                                "a key of %s, but %s is one of %s", format_names[marks[i].format],
                                mark + 1, format_names[*format]);
        mark = marks[i].pointer;
        *format = marks[i].format;
    }
    *is_marked = mark != NULL;
    return MS_OK;
}
