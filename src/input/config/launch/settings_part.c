/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/config/launch/settings_part.h"

#include "input/config/trainers/training_keys.h"

static bool has_one_of(ms_json_value root, const char *const *names)
{
    ms_json_value value;
    for (; *names; names++)
        if (ms_json_find(root, *names, &value))
            return true;
    return false;
}

/* Keys of accelerate's questionnaire, and those that only a trainer has. */
static const char *const of_launcher[] = {"compute_environment", "distributed_type", "num_machines",
                                          "num_processes", NULL};
static const char *const of_engine[] = {"zero_optimization", "train_micro_batch_size_per_gpu",
                                        "train_batch_size", NULL};
static const char *const of_trainer[] = {"per_device_train_batch_size",
                                         "gradient_checkpointing",
                                         "learning_rate",
                                         "model_name_or_path",
                                         "output_dir",
                                         "num_train_epochs",
                                         "max_steps",
                                         "max_length",
                                         "bf16",
                                         "optim",
                                         "deepspeed",
                                         "fsdp",
                                         NULL};

ms_status ms_settings_part_of(ms_json_value root, ms_settings_part *part, ms_error *err)
{
    *part = (ms_settings_part){.kind = MS_SETTINGS_TRAINER, .root = root};
    ms_status status = ms_training_format_find(root, &part->format, err);
    if (status != MS_OK || part->format != MS_TRAINING_HF)
        return status;
    if (has_one_of(root, of_engine) && !has_one_of(root, of_launcher))
        part->kind = MS_SETTINGS_ENGINE;
    else if (has_one_of(root, of_launcher) && !has_one_of(root, of_trainer))
        part->kind = MS_SETTINGS_LAUNCHER;
    return MS_OK;
}

const char *ms_settings_part_name(const ms_settings_part *part)
{
    return part->kind == MS_SETTINGS_LAUNCHER ? "accelerate"
           : part->kind == MS_SETTINGS_ENGINE ? "DeepSpeed"
                                              : ms_training_format_name(part->format);
}
