/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The adapter of a file of training settings, and how the base is quantised.
 */
#ifndef MS_CONFIG_TRAINERS_TRAINING_ADAPTER_H
#define MS_CONFIG_TRAINERS_TRAINING_ADAPTER_H

#include "config/trainers/training_reading.h"

/* Sets the adapter and how the base is quantised. */
ms_status ms_training_set_adapter(ms_training_reading *r);
/* Whether the base is frozen below an adapter. */
bool ms_training_has_adapter(const ms_training_reading *r);

#endif
