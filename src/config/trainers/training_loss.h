/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Loss and Liger kernels of a file of training settings.
 */
#ifndef MS_CONFIG_TRAINERS_TRAINING_LOSS_H
#define MS_CONFIG_TRAINERS_TRAINING_LOSS_H

#include "config/trainers/training_reading.h"

/* Sets the loss and the Liger kernels. */
ms_status ms_training_set_loss(ms_training_reading *r);

#endif
