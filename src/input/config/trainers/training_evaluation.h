/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Evaluation between steps, and emptying the cache, in a file of training settings.
 */
#ifndef MS_INPUT_CONFIG_TRAINERS_TRAINING_EVALUATION_H
#define MS_INPUT_CONFIG_TRAINERS_TRAINING_EVALUATION_H

#include "input/config/trainers/training_reading.h"

/* Sets the evaluation and how often the cache is emptied. */
ms_status ms_training_set_between_steps(ms_training_reading *r);

#endif
