/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * An engine that generates on the device that trains, and the share of it that it holds.
 */
#ifndef MS_INPUT_CONFIG_TRAINERS_OTHERS_TRAINING_ENGINE_H
#define MS_INPUT_CONFIG_TRAINERS_OTHERS_TRAINING_ENGINE_H

#include "input/config/trainers/training_reading.h"

/* Sets the share of the device that such an engine leaves to the training, if the file has one. */
ms_status ms_training_set_engine(ms_training_reading *r, ms_json_value root);

#endif
