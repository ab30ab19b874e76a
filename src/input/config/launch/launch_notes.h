/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Notes about how many processes and devices a launch has.
 */
#ifndef MS_INPUT_CONFIG_LAUNCH_LAUNCH_NOTES_H
#define MS_INPUT_CONFIG_LAUNCH_LAUNCH_NOTES_H

#include "input/config/launch/launch_words.h"

/* Where only the machine decides how many processes the program has. */
ms_status ms_launch_note_uncounted(const ms_launch *l);
/* Where a process of ms-swift may see several devices. */
ms_status ms_launch_note_devices(const ms_launch *l);

#endif
