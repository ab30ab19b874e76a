/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Keys of fsdp_config, by accelerate's names and by axolotl's.
 */
#ifndef MS_INPUT_CONFIG_TRAINERS_FSDP_TRAINING_FSDP_KEYS_H
#define MS_INPUT_CONFIG_TRAINERS_FSDP_TRAINING_FSDP_KEYS_H

#include "input/config/trainers/training_ranks.h"

/* Whether the keys are axolotl's own, not those of the launcher's file beside it. */
bool ms_training_fsdp_is_axolotl(const ms_training_ranks *t);
/* Finds a key, with or without its prefix; null is none. */
bool ms_training_fsdp_find(const ms_training_ranks *t, const char *name, ms_json_value *value);
/* Its truth; `absent` where it is not there. */
bool ms_training_fsdp_is_true(const ms_training_ranks *t, const char *name, bool absent);
/* Notes keys that neither of them has. */
ms_status ms_training_fsdp_note_unknown(const ms_training_ranks *t);

/* Units of layers alone, where accelerate's are not predicted for this model and these ranks, which
 * a first attempt told. */
ms_status ms_training_fsdp_set_plain_units(const ms_training_ranks *t);

#endif
