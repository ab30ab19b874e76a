/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Checkpoints of activations in files of training settings.
 */
#ifndef MS_INPUT_CONFIG_TRAINERS_STEP_TRAINING_CHECKPOINTS_H
#define MS_INPUT_CONFIG_TRAINERS_STEP_TRAINING_CHECKPOINTS_H

#include "input/config/trainers/training_reading.h"

/* Sets checkpoints and their kind, once it is known what the file shards with. */
ms_status ms_training_set_checkpoints(ms_training_reading *r);

/* Whether reentrant checkpoints and evaluations are predicted among the ranks of the training. */
bool ms_training_knows_passes(const ms_training_reading *r);

#endif
