/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What starts a training program.
 */
#ifndef MS_CONFIG_LAUNCH_LAUNCHERS_H
#define MS_CONFIG_LAUNCH_LAUNCHERS_H

#include "config/launch/launch_words.h"

/* How sure it is that a command is a launch. */
typedef enum ms_launch_class {
    MS_LAUNCH_NONE,
    MS_LAUNCH_PYTHON,  /* a program of one's own */
    MS_LAUNCH_TRAINER, /* a launcher, or a trainer's command */
    MS_LAUNCH_SCRIPT   /* a shell script, which has one if nothing else here is one */
} ms_launch_class;
ms_launch_class ms_launch_class_of(const ms_shell_words *words);

/* Takes the words of variables and launchers off the front; `*at` becomes the place of the program,
 * or of the trainer's command. */
ms_status ms_launch_take_launchers(ms_launch *launch, uint32_t *at);

#endif
