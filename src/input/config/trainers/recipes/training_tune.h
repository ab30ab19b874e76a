/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What torchtune's recipes (0.7) have of their own: the loss in pieces, optimizers that step in
 * backward, saved tensors on the host.
 */
#ifndef MS_INPUT_CONFIG_TRAINERS_RECIPES_TRAINING_TUNE_H
#define MS_INPUT_CONFIG_TRAINERS_RECIPES_TRAINING_TUNE_H

#include "input/config/trainers/training_reading.h"

/* Of torchtune's files, once checkpointing and the ranks are known. Options of the run win. */
ms_status ms_training_set_tune(ms_training_reading *r);

#endif
