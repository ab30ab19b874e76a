/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The keys of DeepSpeed's configuration: what each stands for.
 */
#ifndef MS_INPUT_CONFIG_TRAINERS_ZERO_TRAINING_ZERO_KEYS_H
#define MS_INPUT_CONFIG_TRAINERS_ZERO_TRAINING_ZERO_KEYS_H

#include "input/config/trainers/training_ranks.h"

/* Reads the keys beside zero_optimization, those in it, and accelerate's short ones. Values that
 * are not predicted are left out of the figures; a key that is not known is noted. */
ms_status ms_training_zero_take_outer(const ms_training_ranks *t);
ms_status ms_training_zero_take_inner(const ms_training_ranks *t, ms_json_value zero);
ms_status ms_training_zero_take_short(const ms_training_ranks *t);

/* Whether FSDP2 stands for ZeRO-3 here, which has none of its options. */
bool ms_training_zero_is_sharded(const ms_training_ranks *t);

/* ---- training zero numbers ---- */

/* What DeepSpeed's configuration and the training arguments both say: batches and types. */

/* Sets micro-batch, accumulation and clipping: train_batch_size decides what is missing of the
 * first two. Refuses numbers that contradict each other, as DeepSpeed and Trainer do. */
ms_status ms_training_zero_take_numbers(const ms_training_ranks *t);

/* Takes the type that the configuration trains in. Refuses both, and another than that of the
 * training arguments. */
ms_status ms_training_zero_take_types(const ms_training_ranks *t);

#endif
