/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The keys of files of training settings: their formats and topics. training_args.c interprets
 * them.
 */
#ifndef MS_INPUT_CONFIG_TRAINERS_TRAINING_KEYS_H
#define MS_INPUT_CONFIG_TRAINERS_TRAINING_KEYS_H

#include "input/config/trainers/keys/format_marks.h"
#include "input/config/trainers/training_args.h"
#include "input/config/trainers/training_value.h"

/* What a key sets, independent of its name. */
typedef enum ms_training_topic {
    MS_TOPIC_BATCH,
    MS_TOPIC_SEQ,
    MS_TOPIC_ACCUMULATE,
    MS_TOPIC_CLIP,
    MS_TOPIC_WEIGHT_DECAY,
    MS_TOPIC_OPTIMIZER,
    MS_TOPIC_FUSED,
    MS_TOPIC_MOMENTUM,
    MS_TOPIC_BF16,
    MS_TOPIC_FP16,
    MS_TOPIC_PURE_BF16,
    MS_TOPIC_MIXED_PRECISION,
    MS_TOPIC_WEIGHTS_BF16,
    MS_TOPIC_WEIGHTS_FP16,
    MS_TOPIC_DTYPE,
    MS_TOPIC_CHECKPOINTING,
    MS_TOPIC_NO_CHECKPOINTING,
    MS_TOPIC_CHECKPOINT_KWARGS,
    MS_TOPIC_REENTRANT,
    MS_TOPIC_EVERY_LAYERS,
    MS_TOPIC_INPUT_ON_HOST,
    MS_TOPIC_ATTENTION,
    MS_TOPIC_EAGER,
    MS_TOPIC_FLASH,
    MS_TOPIC_ADAPTER,
    MS_TOPIC_RANK,
    MS_TOPIC_DROPOUT,
    MS_TOPIC_TARGETS,
    MS_TOPIC_ALL_LINEAR,
    MS_TOPIC_MLP,
    MS_TOPIC_HEAD,
    MS_TOPIC_SAVED,
    MS_TOPIC_DORA,
    MS_TOPIC_ADAPTER_DTYPE,
    MS_TOPIC_FOUR_BITS,
    MS_TOPIC_EIGHT_BITS,
    MS_TOPIC_BITS,
    MS_TOPIC_QUANTIZE_TYPE,
    MS_TOPIC_QUANTIZE_METHOD,
    MS_TOPIC_DOUBLE,
    MS_TOPIC_QUANTIZE_BASE,
    MS_TOPIC_MODEL,
    MS_TOPIC_PACKED,
    MS_TOPIC_PADDING_FREE,
    MS_TOPIC_PACKING_STRATEGY,
    MS_TOPIC_PACKED_LENGTH,
    MS_TOPIC_LABEL_SMOOTHING,
    MS_TOPIC_LIGER,
    MS_TOPIC_LIGER_CONFIG,
    MS_TOPIC_LIGER_ROPE,
    MS_TOPIC_LIGER_RMS_NORM,
    MS_TOPIC_LIGER_SWIGLU,
    MS_TOPIC_LIGER_GEGLU,
    MS_TOPIC_LIGER_LOSS,
    MS_TOPIC_ALLOCATOR,
    MS_TOPIC_EMPTY_CACHE,
    MS_TOPIC_EVAL_STRATEGY,
    MS_TOPIC_SAVE_STRATEGY,
    MS_TOPIC_EVAL_STEPS,
    MS_TOPIC_DO_EVAL,
    MS_TOPIC_EVAL_ON_START,
    MS_TOPIC_VALIDATION,
    MS_TOPIC_EVAL_BATCH,
    MS_TOPIC_LOSS_ONLY,
    MS_TOPIC_KEPT_BATCHES,
    MS_TOPIC_BEST_METRIC,
    MS_TOPIC_BATCH_METRICS,
    MS_TOPIC_METRIC_INPUTS,
    MS_TOPIC_METRICS,
    MS_TOPIC_ACCURACY,
    MS_TOPIC_LOSS,
    MS_TOPIC_IN_BACKWARD,
    MS_TOPIC_OFFLOADING,
    MS_TOPIC_STREAMS,
    MS_TOPIC_COUNT
} ms_training_topic;

/* A file, by topic. */
typedef struct ms_training_file {
    ms_training_format format;
    bool given[MS_TOPIC_COUNT]; /* present and not null */
    ms_json_value values[MS_TOPIC_COUNT];
} ms_training_file;

/* Detects the format by keys that only it has. */
ms_status ms_training_format_find(ms_json_value root, ms_training_format *format, ms_error *err);
/* Finds the keys of the format, and checks that each has the kind of value of its topic. */
ms_status ms_training_file_read(ms_json_value root, ms_training_format format,
                                ms_training_file *file, ms_error *err);

/* What is read of a key by its topic. */
typedef enum ms_training_key_use {
    MS_KEY_USE_NONE,
    MS_KEY_USE_READ,
    MS_KEY_USE_INSIDE /* an object, whose members are read */
} ms_training_key_use;

/* The use of the key of that path, as "optimizer/fused". */
ms_training_key_use ms_training_key_use_of(const char *path, ms_training_format format);
/* The key of the format that `name` is a slip of; NULL when it is too far from all of them. */
const char *ms_training_key_meant_by(const char *name, ms_training_format format);

#endif
