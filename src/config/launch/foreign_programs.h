/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Programs of trainers whose settings are not read, which are refused by name.
 */
#ifndef MS_CONFIG_LAUNCH_FOREIGN_PROGRAMS_H
#define MS_CONFIG_LAUNCH_FOREIGN_PROGRAMS_H

#include "config/launch/launch_words.h"

/* Fails at the word. */
ms_status ms_launch_refuse_trainer(const ms_launch *l, uint32_t at, const char *trainer);
/* Fails if the program of that name, at the word, is one of them. */
ms_status ms_launch_check_foreign(const ms_launch *l, uint32_t at, const char *name);

#endif
