/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A launch as a person types it, `accelerate launch --config_file a.yaml train.py --config b.yaml
 * --lora_r 16`, or as a shell script has it: the files that it names, and its words as settings.
 * Nothing is run.
 */
#ifndef MS_INPUT_CONFIG_LAUNCH_LAUNCH_H
#define MS_INPUT_CONFIG_LAUNCH_LAUNCH_H

#include "input/config/launch/launch_words.h"

/* ---- launch document ---- */

/* Words of a launch as a document. */

/* Settings of the launcher or of the trainer as a document, whose text is the launch with what it
 * expands to. `*text` is to be freed, behind the document. NULL: there are none. */
ms_status ms_launch_document(const ms_launch *launch, const ms_launch_settings *settings,
                             ms_json **document, char **text, ms_error *err);

/* Reads the words of a launch, in a shell's spelling, or the script that "@FILE" names; what a run
 * file gives is looked for beside it. `launch` is released by ms_launch_end, also after a failure.
 * Refused, with the line: a text without a launch or with two, one that a loop or a condition has,
 * programs that are not read, by name, and settings whose value is not known. */
ms_status ms_launch_read(ms_arena *arena, const char *text, const char *run_path, ms_launch *launch,
                         ms_notes *notes, ms_error *err);
void ms_launch_end(ms_launch *launch);

#endif
