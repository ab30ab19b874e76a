/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Dtypes and autocast of a file of training settings.
 */
#ifndef MS_INPUT_CONFIG_TRAINERS_TRAINING_PRECISION_H
#define MS_INPUT_CONFIG_TRAINERS_TRAINING_PRECISION_H

#include "input/config/trainers/training_reading.h"

ms_status ms_training_set_precision(ms_training_reading *r);

#endif
