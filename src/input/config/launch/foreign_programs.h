/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Programs of trainers whose settings are not read, which are refused by name.
 */
#ifndef MS_INPUT_CONFIG_LAUNCH_FOREIGN_PROGRAMS_H
#define MS_INPUT_CONFIG_LAUNCH_FOREIGN_PROGRAMS_H

#include "input/config/launch/launch_words.h"

/* Refuses the trainer at a word, by its name. */
ms_status ms_launch_refuse_trainer(const ms_launch *launch, uint32_t at, const char *trainer);

/* Refuses the program `name` at a word if it is one of them. */
ms_status ms_launch_check_foreign(const ms_launch *launch, uint32_t at, const char *name);

#endif
