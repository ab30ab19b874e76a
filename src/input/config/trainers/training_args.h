/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Files of training settings: Hugging Face TrainingArguments as JSON or YAML, and the YAML files of
 * axolotl, LLaMA-Factory and torchtune. They set fields of a run; fields set otherwise win.
 */
#ifndef MS_INPUT_CONFIG_TRAINERS_TRAINING_ARGS_H
#define MS_INPUT_CONFIG_TRAINERS_TRAINING_ARGS_H

#include "base/arena.h"
#include "base/error.h"
#include "input/config/model/notes.h"
#include "input/config/resolve/resolve.h"
#include "input/config/run/run_fields.h"
#include "base/json/value.h"

typedef struct ms_model_config ms_model_config;

/* What a reader tells of its files; all of it belongs to the arena. */
typedef struct ms_told {
    ms_notes *notes;
    ms_notes *unsupported; /* what is run otherwise than the trainer does, in sentences */
    ms_read_keys *keys;    /* how each key was read */
    bool lacks_model;      /* another one stands for it: only refusals count, without those of names
                              of modules */
} ms_told;

/* Sets the fields of `draft` that the file determines and that are not set yet. `origins` records
 * their places, so the document must outlive it. */
ms_status ms_training_args_read(ms_arena *arena, ms_json_value root, const ms_model_config *model,
                                ms_run_draft *draft, ms_run_origins *origins, ms_told told,
                                ms_error *err);

#endif
