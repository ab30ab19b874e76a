/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What DeepSpeed's configuration and the training arguments both say: batches and types.
 */
#ifndef MS_INPUT_CONFIG_TRAINERS_ZERO_TRAINING_ZERO_NUMBERS_H
#define MS_INPUT_CONFIG_TRAINERS_ZERO_TRAINING_ZERO_NUMBERS_H

#include "input/config/trainers/training_ranks.h"

/* Sets micro-batch, accumulation and clipping: train_batch_size decides what is missing of the
 * first two. Refuses numbers that contradict each other, as DeepSpeed and Trainer do. */
ms_status ms_training_zero_take_numbers(const ms_training_ranks *t);

/* Takes the type that the configuration trains in. Refuses both, and another than that of the
 * training arguments. */
ms_status ms_training_zero_take_types(const ms_training_ranks *t);

#endif
