/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What a shell's text assigns to variables.
 */
#ifndef MS_INPUT_CONFIG_LAUNCH_SHELL_SHELL_ASSIGN_H
#define MS_INPUT_CONFIG_LAUNCH_SHELL_SHELL_ASSIGN_H

#include "input/config/launch/shell/shell_state.h"

/* Bytes of the name that a text assigns to, 0: none; `*adds` for "+=". */
size_t ms_shell_assigned(const char *text, bool *adds);

/* Assigns if the word is NAME=VALUE; `*is_one` says whether it is. `is_inner`: it is not sure that
 * the shell does so. */
ms_status ms_shell_assign(ms_shell *shell, const ms_shell_word *word, bool is_inner, bool *is_one);

/* NAME=(...), of which the last word is "NAME=" and the bracket is next. */
ms_status ms_shell_read_list(ms_shell *shell, bool is_inner);

/* Variables that a command such as "read" or "unset" names are no longer known, nor are any behind
 * "source FILE". */
ms_status ms_shell_forget_changed(ms_shell *shell, const ms_shell_word *words, uint32_t count);

/* Behind "((": skips to its end; what is assigned there is no longer known. */
ms_status ms_shell_skip_arithmetic(ms_shell *shell);

/* Declares as a number the variable that a word names, or assigns to; without a name in it nothing.
 */
ms_status ms_shell_declare_integer(ms_shell *shell, const char *word);

#endif
