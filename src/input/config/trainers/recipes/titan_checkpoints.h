/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * activation_checkpoint in torchtitan's files of 2025.
 */
#ifndef MS_INPUT_CONFIG_TRAINERS_RECIPES_TITAN_CHECKPOINTS_H
#define MS_INPUT_CONFIG_TRAINERS_RECIPES_TITAN_CHECKPOINTS_H

#include "input/config/trainers/training_ranks.h"

/* Sets the layers that are checkpointed, or the operators that they keep. Where these are not
 * predicted each layer is recomputed as a whole, and the key says so. */
ms_status ms_training_read_titan_checkpoints(const ms_training_ranks *t);

#endif
