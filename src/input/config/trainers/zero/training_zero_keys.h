/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The keys of DeepSpeed's configuration: what each stands for.
 */
#ifndef MS_INPUT_CONFIG_TRAINERS_ZERO_TRAINING_ZERO_KEYS_H
#define MS_INPUT_CONFIG_TRAINERS_ZERO_TRAINING_ZERO_KEYS_H

#include "input/config/trainers/training_ranks.h"

/* Whether a value is left to the training arguments. */
bool ms_training_zero_is_auto(ms_json_value value);

/* Reads the keys beside zero_optimization, those in it, and accelerate's short ones. Values that
 * are not predicted are left out of the figures; a key that is not known is noted. */
ms_status ms_training_zero_take_outer(const ms_training_ranks *t);
ms_status ms_training_zero_take_inner(const ms_training_ranks *t, ms_json_value zero);
ms_status ms_training_zero_take_short(const ms_training_ranks *t);

/* Whether FSDP2 stands for ZeRO-3 here, which has none of its options. */
bool ms_training_zero_is_sharded(const ms_training_ranks *t);

#endif
