/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Adapter and quantisation of a file of training settings.
 */
#ifndef MS_INPUT_CONFIG_TRAINERS_ADAPTERS_TRAINING_ADAPTER_H
#define MS_INPUT_CONFIG_TRAINERS_ADAPTERS_TRAINING_ADAPTER_H

#include "input/config/trainers/training_reading.h"

/* Sets the adapter and the quantisation of the base. */
ms_status ms_training_set_adapter(ms_training_reading *r);
/* Whether only an adapter is trained and the base is frozen. */
bool ms_training_has_adapter(const ms_training_reading *r);

#endif
