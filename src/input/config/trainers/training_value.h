/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Formats of training settings; pointers and values in their files.
 */
#ifndef MS_INPUT_CONFIG_TRAINERS_TRAINING_VALUE_H
#define MS_INPUT_CONFIG_TRAINERS_TRAINING_VALUE_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/json/value.h"

typedef enum ms_training_format {
    MS_TRAINING_HF, /* TrainingArguments, and TRL's additions */
    MS_TRAINING_AXOLOTL,
    MS_TRAINING_FACTORY, /* LLaMA-Factory: TrainingArguments and its own keys */
    MS_TRAINING_TORCHTUNE,
    MS_TRAINING_TITAN, /* torchtitan's TOML */
    MS_TRAINING_SWIFT, /* ms-swift: TrainingArguments and its own keys */
    MS_TRAINING_V1,    /* LLaMA-Factory's newer format, with a trainer of its own */
    MS_TRAINING_FORMAT_COUNT
} ms_training_format;

/* Whether the trainer moves to the device a model that was built on the host: Trainer does, but TRL
 * and the others load it there, or build it there. */
bool ms_training_moves_model(ms_training_format format, ms_json_value root);

/* Whether a value disables its key: null, false, 0, "", "no", "none", [] and {}. */
bool ms_training_says_nothing(ms_json_value value);
/* The text of a string; "" for other values. */
const char *ms_training_value_text(ms_json_value value);
/* A number, also as a text; -1: it is none. */
double ms_training_value_number(ms_json_value value);
/* "CEWithChunkedOutputLoss" of "torchtune.modules.loss.CEWithChunkedOutputLoss". */
const char *ms_training_last_name(const char *dotted);
/* Whether the pointer begins with the key of that name. */
bool ms_training_key_starts(const char *pointer, const char *name);

/* "line 6 of the training arguments", or of which of several files, of a key. NULL: out of memory.
 */
const char *ms_training_line(ms_arena *arena, ms_json_value value);

#endif
