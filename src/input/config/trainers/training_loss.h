/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Loss, Liger kernels and the loop of a file of training settings.
 */
#ifndef MS_INPUT_CONFIG_TRAINERS_TRAINING_LOSS_H
#define MS_INPUT_CONFIG_TRAINERS_TRAINING_LOSS_H

#include "input/config/trainers/training_reading.h"

/* Sets the loss, the Liger kernels and the loop around the step. */
ms_status ms_training_set_loss(ms_training_reading *r);

/* Whether an option gives head and loss, or a treatment of the loss, which wins over the file. */
bool ms_training_has_own_loss(const ms_training_reading *r);

#endif
