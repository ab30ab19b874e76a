/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Which command of a script is a launch.
 */
#ifndef MS_INPUT_CONFIG_LAUNCH_LAUNCH_CLASS_H
#define MS_INPUT_CONFIG_LAUNCH_LAUNCH_CLASS_H

#include "input/config/launch/shell/shell_state.h"

/* How sure it is that a command is a launch. */
typedef enum ms_launch_class {
    MS_LAUNCH_NONE,
    MS_LAUNCH_PYTHON,  /* a program of one's own */
    MS_LAUNCH_TRAINER, /* a launcher, or a trainer's command */
    MS_LAUNCH_SCRIPT   /* a shell script, which has one if nothing else here is one */
} ms_launch_class;
ms_launch_class ms_launch_class_of(const ms_shell_words *words);

/* What stands behind the last slash. */
const char *ms_launch_base_name(const char *path);
/* python, python3, python3.12 */
bool ms_launch_is_python(const char *word);
/* "env", "nohup" and others, behind which the command is. */
bool ms_launch_is_wrapper(const char *word);

#endif
