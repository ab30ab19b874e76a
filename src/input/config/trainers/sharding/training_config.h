/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The configuration of FSDP, DeepSpeed or a recipe by which a file of training settings shards: in
 * the file, beside it, or one that comes with the trainer.
 */
#ifndef MS_INPUT_CONFIG_TRAINERS_SHARDING_TRAINING_CONFIG_H
#define MS_INPUT_CONFIG_TRAINERS_SHARDING_TRAINING_CONFIG_H

#include "input/config/trainers/training_reading.h"
#include "input/config/trainers/training_sharding.h"

/* Whether the technique of the file, of these trainers, is one that is predicted from it. */
bool ms_training_knows_sharding(const ms_sharding *sharding, ms_training_format format,
                                bool *is_zero);
/* Sets the layout and the options of the ranks; `*is_read` false: --parallel gives another one. */
ms_status ms_training_read_ranks(ms_training_reading *r, const ms_sharding *s, ms_json_value root,
                                 bool is_zero, bool *is_read);

#endif
