/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Words of a shell's text: quotes, variables that are assigned above, lists, defaults such as
 * ${N:-8}, comments and continued lines. Nothing is run. What is not followed (substitutions,
 * variables of the machine, values that a loop or a condition assigns) leaves a word that says why
 * it is not known, which its reader refuses if it matters.
 */
#ifndef MS_INPUT_CONFIG_LAUNCH_SHELL_SHELL_H
#define MS_INPUT_CONFIG_LAUNCH_SHELL_SHELL_H

#include "input/config/launch/shell/shell_state.h"

/* ---- shell assign ---- */

/* What a shell's text assigns to variables. */

/* Assigns if the word is NAME=VALUE; `*is_one` says whether it is. `is_inner`: it is not sure that
 * the shell does so. */
ms_status ms_shell_assign(ms_shell *shell, const ms_shell_word *word, bool is_inner, bool *is_one);

/* A command that is no assignment. `is_inner`: a loop, a condition or a function has it. */
typedef ms_status (*ms_shell_visit)(void *context, const ms_shell *shell,
                                    const ms_shell_words *words, bool is_inner);

/* Reads the commands of a text, one by one. `shell` is zeroed but for arena, source and err, and
 * released by ms_shell_end of shell_state.h, also after a failure; variables may be set before.
 * MS_ERR_SYNTAX and MS_ERR_LIMIT have the place. */
ms_status ms_shell_read(ms_shell *shell, ms_shell_visit visit, void *context);

/* A word as a shell spells it, between quotes. NULL: out of memory. */
const char *ms_shell_quote(ms_arena *arena, const char *word);

#endif
