/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * How files of LLaMA-Factory's newer format share the training among ranks: dist_config.
 */
#ifndef MS_INPUT_CONFIG_TRAINERS_SHARDING_TRAINING_V1_RANKS_H
#define MS_INPUT_CONFIG_TRAINERS_SHARDING_TRAINING_V1_RANKS_H

#include "input/config/trainers/training_ranks.h"

/* What the file shards by. Without dist_config several ranks are DistributedDataParallel's, which
 * is set; a single one shards nothing. */
ms_status ms_training_share_v1(ms_training_reading *r, ms_json_value root, ms_sharding *sharding);
/* Layout and options of fully_shard; `*is_read` false: --parallel gives another technique. */
ms_status ms_training_read_v1(ms_training_ranks *t, bool *is_read);

#endif
