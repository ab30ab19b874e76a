/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What a file of training settings specifies for several GPUs.
 */
#ifndef MS_INPUT_CONFIG_TRAINERS_TRAINING_SHARDING_H
#define MS_INPUT_CONFIG_TRAINERS_TRAINING_SHARDING_H

#include "base/arena.h"
#include "input/config/trainers/training_value.h"

typedef enum ms_sharding_kind {
    MS_SHARDING_NONE,
    MS_SHARDING_COPIES, /* every GPU has all weights and states */
    MS_SHARDING_SPLITS  /* weights, states, layers or sequences are sharded */
} ms_sharding_kind;

typedef struct ms_sharding {
    ms_sharding_kind kind;
    ms_json_value value; /* the value that specifies it; not for MS_SHARDING_NONE */
    const char *library; /* library whose own memory is not predicted: "DistributedDataParallel" */
    uint64_t processes;  /* that accelerate starts; 0: the file does not say */
    bool has_buckets;    /* buckets as large as the gradients, in addition to them */
    bool wraps_one;      /* of a launch: one process has them too */
    bool widens;         /* nothing is sharded, but what is trained is in fp32 besides: DeepSpeed
                            without ZeRO, FSDP1's NO_SHARD */
} ms_sharding;

/* Evaluates the keys of the format as the trainer does. A DeepSpeed configuration is opened
 * relative to the file, else to the working directory; if it cannot be read, it is assumed to
 * shard. Fails only when out of memory. */
ms_status ms_training_sharding(ms_arena *arena, ms_json_value root, ms_training_format format,
                               ms_sharding *sharding, ms_error *err);

/* Whether a pointer to a key about sharding begins with that name. */
bool ms_training_key_is_of_sharding(const char *name, ms_training_format format);

#endif
