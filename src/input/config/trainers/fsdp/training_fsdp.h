/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * FSDP in files of training settings: accelerate's, TrainingArguments' and axolotl's.
 */
#ifndef MS_INPUT_CONFIG_TRAINERS_FSDP_TRAINING_FSDP_H
#define MS_INPUT_CONFIG_TRAINERS_FSDP_TRAINING_FSDP_H

#include "input/config/trainers/training_ranks.h"

/* Sets the layout and its options. Refuses what is not predicted, by its name; asks for the number
 * of ranks. `*is_read` is false if --parallel gives another technique. */
ms_status ms_training_read_fsdp(ms_training_ranks *t, bool *is_read);

#endif
