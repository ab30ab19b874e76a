/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What starts a training program.
 */
#ifndef MS_INPUT_CONFIG_LAUNCH_LAUNCHERS_H
#define MS_INPUT_CONFIG_LAUNCH_LAUNCHERS_H

#include "input/config/launch/launch_words.h"

/* Takes the words of variables and launchers off the front; `*at` becomes the place of the program,
 * or of the trainer's command. */
ms_status ms_launch_take_launchers(ms_launch *launch, uint32_t *at);

#endif
