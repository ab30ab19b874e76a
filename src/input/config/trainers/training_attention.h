/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Attention, packing and padding in files of training settings.
 */
#ifndef MS_INPUT_CONFIG_TRAINERS_TRAINING_ATTENTION_H
#define MS_INPUT_CONFIG_TRAINERS_TRAINING_ATTENTION_H

#include "input/config/trainers/training_reading.h"

/* Sets attention and padding, after batch, length and checkpoints. */
ms_status ms_training_set_attention(ms_training_reading *r);

#endif
