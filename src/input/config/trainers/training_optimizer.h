/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The optimizer of a file of training settings.
 */
#ifndef MS_INPUT_CONFIG_TRAINERS_TRAINING_OPTIMIZER_H
#define MS_INPUT_CONFIG_TRAINERS_TRAINING_OPTIMIZER_H

#include "input/config/trainers/training_reading.h"

ms_status ms_training_set_optimizer(ms_training_reading *r);

#endif
