/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Which command of a shell's text is a launch.
 */
#ifndef MS_CONFIG_LAUNCH_LAUNCH_CLASS_H
#define MS_CONFIG_LAUNCH_LAUNCH_CLASS_H

#include "config/launch/shell_state.h"

/* How sure it is that a command is a launch. */
typedef enum ms_launch_class {
    MS_LAUNCH_NONE,
    MS_LAUNCH_PYTHON,  /* a program of one's own */
    MS_LAUNCH_TRAINER, /* a launcher, or a trainer's command */
    MS_LAUNCH_SCRIPT   /* a shell script, which has one if nothing else here is one */
} ms_launch_class;
ms_launch_class ms_launch_class_of(const ms_shell_words *words);

/* Words that stand before a launch, with a space around each. */
extern const char ms_launch_wrappers[];

/* "torchrun" of "/usr/bin/torchrun". */
const char *ms_launch_base_name(const char *path);
/* Whether it is python, python3 or python3.12, with or without a path. */
bool ms_launch_is_python(const char *word);
/* Whether the name is among words that have a space on both sides. */
bool ms_launch_has_word(const char *list, const char *name);

#endif
