/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What a file of training settings says of several GPUs.
 */
#ifndef MS_CONFIG_TRAINERS_TRAINING_SHARDING_H
#define MS_CONFIG_TRAINERS_TRAINING_SHARDING_H

#include "base/arena.h"
#include "config/trainers/training_value.h"

typedef enum ms_sharding_kind {
    MS_SHARDING_NONE,
    MS_SHARDING_COPIES, /* every GPU holds everything */
    MS_SHARDING_SPLITS  /* weights, states, layers or sequences are spread over GPUs */
} ms_sharding_kind;

typedef struct ms_sharding {
    ms_sharding_kind kind;
    ms_json_value value; /* that says so; unless the kind is none */
    const char *library; /* whose own memory is not predicted: "DistributedDataParallel" */
    bool has_buckets;    /* as many bytes as the gradients, in addition to them */
} ms_sharding;

/* Reads the keys of the format that decide it, as the trainer does. A DeepSpeed configuration that
 * the file names is opened beside it, else where the program runs; one that cannot be read is taken
 * to split. Fails only when memory is short. */
ms_status ms_training_sharding(ms_arena *arena, ms_json_value root, ms_training_format format,
                               ms_sharding *sharding, ms_error *err);

/* Whether some key that decides it begins with that name. */
bool ms_training_key_is_of_sharding(const char *name, ms_training_format format);

#endif
