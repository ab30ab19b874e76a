/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What axolotl does by itself: kernels of adapters, and the plugin of cut cross entropy.
 */
#ifndef MS_INPUT_CONFIG_TRAINERS_OTHERS_TRAINING_AXOLOTL_H
#define MS_INPUT_CONFIG_TRAINERS_OTHERS_TRAINING_AXOLOTL_H

#include "input/config/trainers/training_reading.h"

/* Whether head and loss are cut cross entropy. */
bool ms_training_has_cut_loss(ms_json_value root);

/* Does nothing for other formats. Called once everything else has been read. */
ms_status ms_training_set_axolotl(ms_training_reading *r, ms_json_value root);

#endif
