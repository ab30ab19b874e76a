/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The kind of training that the name of a program tells of.
 */
#ifndef MS_INPUT_CONFIG_LAUNCH_PROGRAM_TASK_H
#define MS_INPUT_CONFIG_LAUNCH_PROGRAM_TASK_H

#include "base/arena.h"

/* "dpo" of "train_dpo.py", "sft" of TRL's own "trl/scripts/sft.py"; NULL: the name says nothing. */
const char *ms_program_task(ms_arena *arena, const char *name);
/* "sft" of swift/cli/sft.py and of swift.cli.sft, which launchers start; NULL: no training of
 * ms-swift. Static text. */
const char *ms_program_swift_task(const char *program);

#endif
