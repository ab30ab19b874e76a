/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * fully_shard in the files of torchtune's distributed recipes.
 */
#ifndef MS_CONFIG_TRAINERS_TRAINING_RECIPES_H
#define MS_CONFIG_TRAINERS_TRAINING_RECIPES_H

#include "config/trainers/training_ranks.h"

/* Sets the layout and its options. Refuses what is not predicted, by its name; asks for the number
 * of ranks. `*is_read` is false if --parallel gives another technique. */
ms_status ms_training_read_recipe(ms_training_ranks *t, bool *is_read);

#endif
