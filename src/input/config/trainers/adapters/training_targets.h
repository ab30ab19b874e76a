/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Modules that an adapter of a trainer's file takes or saves, as `--lora` names them: joined by
 * '+'. NULL in the place of names: out of memory.
 */
#ifndef MS_INPUT_CONFIG_TRAINERS_ADAPTERS_TRAINING_TARGETS_H
#define MS_INPUT_CONFIG_TRAINERS_ADAPTERS_TRAINING_TARGETS_H

#include "input/config/trainers/training_reading.h"

/* "q_proj" and "v_proj": "q_proj+v_proj"; the arena owns it. */
const char *ms_training_join_name(const ms_training_reading *r, const char *so_far,
                                  const char *name);
/* Those of a given topic: a text or a list. Of a pattern, which `--lora` does not have, the last
 * parts of the names that it matches, left out of the figures as coming near. */
ms_status ms_training_module_names(ms_training_reading *r, ms_training_topic topic,
                                   const char **names);
/* Leaves out of the figures targets that PEFT exchanges for stacked experts, which are not
 * predicted; the rest remain, or attention of all-linear. */
ms_status ms_training_leave_experts(ms_training_reading *r, const char **names);
/* Leaves out of the figures saved modules whose weight another one shares, and all in ZeRO-3. */
ms_status ms_training_leave_saved(ms_training_reading *r, const char **names);

#endif
