/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * DeepSpeed ZeRO in files of training settings: DeepSpeed's own configuration, alone or named by
 * TrainingArguments or accelerate's file, and accelerate's own keys.
 */
#ifndef MS_INPUT_CONFIG_TRAINERS_TRAINING_ZERO_H
#define MS_INPUT_CONFIG_TRAINERS_TRAINING_ZERO_H

#include "input/config/trainers/training_ranks.h"

/* Sets the layout and its options from DeepSpeed's configuration, `t->config`, or from accelerate's
 * keys if `is_short`. Refuses what is not predicted, by its name, and notes unknown keys.
 * `*is_read` is false if --parallel gives another technique. */
ms_status ms_training_read_zero(ms_training_ranks *t, bool is_short, bool *is_read);

/* DeepSpeed casts the model to bf16 or fp16. `autocast` is the mixed precision of the file. */
ms_status ms_training_set_zero_types(ms_training_reading *r, const char *autocast);

#endif
